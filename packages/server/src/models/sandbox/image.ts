import { createHash } from "node:crypto";
import { SandboxFailure } from "./sandbox-failure.ts";

type Color = readonly [red: number, green: number, blue: number];

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

export interface ImageOrder {
  /** Rendered text without directive lines. */
  readonly subject: string;
  readonly itemIndex: number;
  readonly size: ImageSize;
  readonly images: readonly { readonly bytes: Uint8Array }[];
}

const SIZE_DEFAULT = "512x512";
const SIDE_MIN = 64;
const SIDE_MAX = 2_048;

/** @throws SandboxFailure 400 for a size that no model would accept. */
export function parseImageSize(size: string | null): ImageSize {
  const match = /^([0-9]{2,4})x([0-9]{2,4})$/.exec(size ?? SIZE_DEFAULT);
  const [width, height] = [Number(match?.[1]), Number(match?.[2])];
  const isDrawable = [width, height].every((side) => side >= SIDE_MIN && side <= SIDE_MAX);
  if (isDrawable) return { width, height };
  throw new SandboxFailure("status", `Sandbox: the size ${String(size)} is not supported.`, { httpStatus: 400 });
}

/** Palette: first the pattern's shades, then the band's two colors, then one color per input image. */
const SHADES = 32;
const BAND = SHADES;
const INK = SHADES + 1;
const FRAMES = SHADES + 2;

/** The word is drawn in, not written as metadata, which re-encoding drops. */
const WORD = "SANDBOX";
/** 5 x 7 dots per letter, one row per string. */
const LETTERS: Readonly<Record<string, readonly string[]>> = {
  S: [" ####", "#    ", "#    ", " ### ", "    #", "    #", "#### "],
  A: [" ### ", "#   #", "#   #", "#####", "#   #", "#   #", "#   #"],
  N: ["#   #", "##  #", "# # #", "# # #", "#  ##", "#   #", "#   #"],
  D: ["#### ", "#   #", "#   #", "#   #", "#   #", "#   #", "#### "],
  B: ["#### ", "#   #", "#   #", "#### ", "#   #", "#   #", "#### "],
  O: [" ### ", "#   #", "#   #", "#   #", "#   #", "#   #", " ### "],
  X: ["#   #", "#   #", " # # ", "  #  ", " # # ", "#   #", "#   #"],
};
const LETTER_WIDTH = 6; // 5 dots and a gap
const LETTER_HEIGHT = 7;

/**
 * Draws one picture: a pattern from the SHA-256 of subject and item index, one frame per input image in a color from
 * that image's own hash, and a band with the word SANDBOX.
 * @returns a PNG.
 */
export async function drawSandboxImage(order: ImageOrder): Promise<Uint8Array> {
  const { width, height } = order.size;
  const digest = createHash("sha256").update(`${order.subject}\n${order.itemIndex}`).digest();
  const pixels = new Uint8Array(width * height);
  drawPattern(pixels, order.size, digest);
  for (let index = 0; index < order.images.length; index += 1) drawFrame(pixels, order.size, index);
  drawBand(pixels, order.size);
  const frames = order.images.map((image) => frameColor(createHash("sha256").update(image.bytes).digest()));
  const palette = [...shadesOf(digest), ...BAND_COLORS, ...frames];
  return encodePng(pixels, palette, order.size);
}

async function encodePng(pixels: Uint8Array, palette: readonly Color[], size: ImageSize): Promise<Uint8Array> {
  const colors = Uint8Array.from(palette.flat());
  const rgb = new Uint8Array(pixels.length * 3);
  for (let at = 0; at < rgb.length; at += 1) rgb[at] = colors[(pixels[Math.floor(at / 3)] ?? 0) * 3 + (at % 3)] ?? 0;
  const { default: sharp } = await import("sharp"); // only if an image is drawn: the catalogue imports this file too
  return sharp(rgb, { raw: { ...size, channels: 3 } })
    .png()
    .toBuffer();
}

const BAND_COLORS: readonly Color[] = [
  [38, 36, 33],
  [255, 255, 255],
];

/** From a pale tint to a deep tone of nearly the same hue, so that it does not outshine the drawn covers beside it. */
function shadesOf(digest: Uint8Array): Color[] {
  const hue = hueOf(digest);
  const shift = ((digest[2] ?? 0) / 256 - 0.5) * 60;
  const [from, to] = [toColor(hue, 0.5, 0.92), toColor(hue + shift, 0.36, 0.44)];
  return Array.from({ length: SHADES }, (_, step): Color => {
    const mix = (a: number, b: number): number => Math.round(a + ((b - a) * step) / (SHADES - 1));
    return [mix(from[0], to[0]), mix(from[1], to[1]), mix(from[2], to[2])];
  });
}

function frameColor(digest: Uint8Array): Color {
  return toColor(hueOf(digest), 0.45, 0.3 + (digest[2] ?? 0) / 1_024);
}

/** In degrees. */
function hueOf(digest: Uint8Array): number {
  return ((((digest[0] ?? 0) << 8) + (digest[1] ?? 0)) / 65_536) * 360;
}

/** @param hue in degrees, of any size; saturation and lightness from 0 to 1. */
function toColor(hue: number, saturation: number, lightness: number): Color {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number): number => {
    const position = (((offset + hue / 30) % 12) + 12) % 12;
    return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(position - 3, 9 - position, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

/** Coordinates run from 0 to 1, so that every size shows the same picture; whole numbers are whole periods. */
const PATTERNS: readonly ((x: number, y: number, pace: number) => number)[] = [
  (x, y, pace) => Math.hypot(x - 0.5, y - 0.5) * pace * 2,
  (x, y, pace) => (x + y) * pace,
  (x, y, pace) => Math.sin(x * pace * 2) + Math.cos(y * pace * 2),
  (x, y, pace) => ((Math.floor(x * pace) % 2) ^ (Math.floor(y * pace) % 2)) / 2 + x / 4,
];

function drawPattern(pixels: Uint8Array, size: ImageSize, digest: Uint8Array): void {
  const pattern = PATTERNS[(digest[6] ?? 0) % PATTERNS.length] ?? ((x) => x);
  const pace = 2 + ((digest[7] ?? 0) % 7);
  const phase = (digest[8] ?? 0) / 256;
  for (let y = 0; y < size.height; y += 1) {
    for (let x = 0; x < size.width; x += 1) {
      const value = pattern(x / size.width, y / size.height, pace) + phase;
      const wave = Math.abs((((value % 1) + 1) % 1) * 2 - 1); // up and down again, so that periods join smoothly
      pixels[y * size.width + x] = Math.round(wave * (SHADES - 1));
    }
  }
}

/** Frames are nested from the border inward, with the first image outermost. */
function drawFrame(pixels: Uint8Array, size: ImageSize, index: number): void {
  const thickness = frameThickness(size);
  const inset = index * thickness;
  const color = FRAMES + index;
  const { width, height } = size;
  for (let step = inset; step < inset + thickness; step += 1) {
    pixels.fill(color, step * width + inset, (step + 1) * width - inset);
    pixels.fill(color, (height - 1 - step) * width + inset, (height - step) * width - inset);
    for (let y = inset; y < height - inset; y += 1) {
      pixels[y * width + step] = color;
      pixels[y * width + width - 1 - step] = color;
    }
  }
}

/** Thin enough that 16 frames on each side still leave half of the picture. */
function frameThickness(size: ImageSize): number {
  return Math.max(1, Math.floor(Math.min(size.width, size.height) / 64));
}

function drawBand(pixels: Uint8Array, size: ImageSize): void {
  const dot = Math.max(1, Math.floor((size.width * 0.6) / (WORD.length * LETTER_WIDTH)));
  const bandHeight = (LETTER_HEIGHT + 4) * dot;
  const top = Math.floor((size.height - bandHeight) / 2);
  pixels.fill(BAND, top * size.width, (top + bandHeight) * size.width);
  const left = Math.floor((size.width - (WORD.length * LETTER_WIDTH - 1) * dot) / 2);
  for (const [index, letter] of Array.from(WORD).entries()) {
    drawLetter(pixels, size.width, LETTERS[letter] ?? [], {
      left: left + index * LETTER_WIDTH * dot,
      top: top + 2 * dot,
      dot,
    });
  }
}

function drawLetter(
  pixels: Uint8Array,
  width: number,
  rows: readonly string[],
  at: { readonly left: number; readonly top: number; readonly dot: number },
): void {
  for (const [row, dots] of rows.entries()) {
    for (const [column, mark] of Array.from(dots).entries()) {
      if (mark !== "#") continue;
      const start = at.left + column * at.dot;
      for (let y = at.top + row * at.dot; y < at.top + (row + 1) * at.dot; y += 1) {
        pixels.fill(INK, y * width + start, y * width + start + at.dot);
      }
    }
  }
}
