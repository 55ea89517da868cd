/**
 * Decodes all image bytes. Anything that cannot be decoded completely, within the limits, is not an image, whatever its
 * name or media type says. Accepted images are re-encoded, so only pixels get through.
 */
import type { Metadata, Sharp } from "sharp";
import { loadSharp } from "./load-sharp.ts";
import { findImageFormat, type ImageFormat } from "./media-signature.ts";
import { reasonOf } from "../../platform/reason-of.ts";

const PIXELS_MAX = 50_000_000;
const SIDE_MAX = 8_192;
/** Per image, across all rounds. */
const DECODE_SECONDS_MAX = 10;
/** Per input. Every 50-megapixel image fits except the largest interlaced 16-bit PNGs and progressive 4:4:4 JPEGs. */
const DECODE_BYTES_MAX = 256 * 1_048_576;
/** The longest side sent to a model: larger images cost upload time and tokens, with no benefit in the models tried. */
const MODEL_SIDE_MAX = 2_048;
/** An image that would have to be smaller than this to fit is rejected: a model could not read it. */
const MODEL_SIDE_MIN = 64;
const MODEL_JPEG_QUALITY = 90;
const OUTPUT_JPEG_QUALITY = 95;

/** An image ready for a model: upright, sRGB, 8-bit, without metadata, within the model's limits. */
export interface LoadedImage {
  readonly bytes: Uint8Array;
  readonly mediaType: "image/png" | "image/jpeg";
}

/** What one model accepts; the service's own maximum of 2,048 pixels per side also applies. */
export interface ImageLimits {
  readonly bytesMax: number;
  readonly sideMax: number;
}

export type DecodeFault = "not-an-image" | "too-many-pixels" | "too-much-memory" | "too-slow" | "too-large";

/** An image that is not accepted. Thrown and caught only inside this slice. */
export class DecodeRefusal extends Error {
  override readonly name = "DecodeRefusal";
  readonly fault: DecodeFault;
  constructor(fault: DecodeFault, cause?: unknown) {
    super(`refused: ${fault}`, { cause });
    this.fault = fault;
  }
}

/**
 * Makes an image upright, sRGB, 8-bit, without metadata, at most 2,048 pixels per side and within the model's own limits:
 * PNG if it has transparency, otherwise JPEG. Only the first frame of an animation is used.
 * @throws DecodeRefusal
 */
export async function prepareForModel(
  bytes: Uint8Array,
  limits: ImageLimits,
  secondsMax = DECODE_SECONDS_MAX,
): Promise<LoadedImage> {
  const { hasAlpha, inputBytes } = await inspect(bytes);
  if (inputBytes > DECODE_BYTES_MAX) throw new DecodeRefusal("too-much-memory");
  const endMs = performance.now() + secondsMax * 1_000;
  let source = bytes;
  let side = Math.min(limits.sideMax, MODEL_SIDE_MAX);
  // Each round aims below the limit by area, so the second nearly always fits; noise may take one or two more.
  for (let rounds = 0; rounds < 5; rounds += 1) {
    const secondsLeft = Math.ceil((endMs - performance.now()) / 1_000);
    if (secondsLeft <= 0) throw new DecodeRefusal("too-slow");
    const image = (await open(source, secondsLeft)).resize({
      width: side,
      height: side,
      fit: "inside",
      withoutEnlargement: true,
    });
    const { data, info } = await encode(hasAlpha ? image.png() : image.jpeg({ quality: MODEL_JPEG_QUALITY }));
    if (data.byteLength <= limits.bytesMax) {
      return { bytes: data, mediaType: hasAlpha ? "image/png" : "image/jpeg" };
    }
    const largest = Math.max(info.width, info.height);
    side = Math.floor(largest * Math.sqrt(limits.bytesMax / data.byteLength) * 0.9);
    if (side < MODEL_SIDE_MIN) break;
    source = data; // upright and at most 2,048 pixels per side: the large image is decoded only once
  }
  throw new DecodeRefusal("too-large");
}

/**
 * Decodes a generated image and re-encodes it in its own format (a GIF as PNG), losslessly if the format allows.
 * @throws DecodeRefusal
 */
export async function encodeOutput(
  bytes: Uint8Array,
): Promise<{ readonly bytes: Buffer; readonly mediaType: "image/png" | "image/jpeg" | "image/webp" }> {
  const { format } = await inspect(bytes);
  const image = await open(bytes);
  if (format === "jpeg") {
    const encoded = await encode(image.jpeg({ quality: OUTPUT_JPEG_QUALITY }));
    return { bytes: encoded.data, mediaType: "image/jpeg" };
  }
  if (format === "webp") {
    const encoded = await encode(image.webp({ lossless: true }));
    return { bytes: encoded.data, mediaType: "image/webp" };
  }
  const encoded = await encode(image.png());
  return { bytes: encoded.data, mediaType: "image/png" };
}

/** The longest side of a picture on cards and pages: twice the largest width that they display. */
const SAMPLE_SIDE_MAX = 1_024;
const SAMPLE_WEBP_QUALITY = 82;

/** Shrinks a picture for pages, preserving transparency; the result has at most about 200 kB. @throws DecodeRefusal */
export async function encodeSample(
  bytes: Uint8Array,
): Promise<{ readonly bytes: Buffer; readonly mediaType: "image/webp" }> {
  await inspect(bytes);
  const image = (await open(bytes)).resize({
    width: SAMPLE_SIDE_MAX,
    height: SAMPLE_SIDE_MAX,
    fit: "inside",
    withoutEnlargement: true,
  });
  const { data } = await encode(image.webp({ quality: SAMPLE_WEBP_QUALITY }));
  return { bytes: data, mediaType: "image/webp" };
}

/** Estimates from the header how much memory decoding takes. @throws DecodeRefusal */
export async function estimateDecodedBytes(bytes: Uint8Array, purpose: "input" | "output"): Promise<number> {
  const { inputBytes, outputBytes } = await inspect(bytes);
  return purpose === "input" ? inputBytes : outputBytes;
}

/** Memory bytes per pixel of an output, which is encoded at full size. Measured 2026-11 at 49 megapixels. */
const OUTPUT_BYTES_PER_PIXEL = { png: 1, jpeg: 6, webp: 11, gif: 5 };

/** Reads only the header, so a small file with a gigapixel picture is rejected before anything is unpacked. */
async function inspect(bytes: Uint8Array) {
  const format = findImageFormat(bytes);
  if (format === null) throw new DecodeRefusal("not-an-image");
  const metadata = await (await open(bytes)).metadata().catch(refuse);
  const { width, height, hasAlpha } = metadata;
  if (width > SIDE_MAX || height > SIDE_MAX) throw new DecodeRefusal("too-many-pixels");
  const perPixel = inputBytesPerPixel(format, metadata);
  const pixels = width * height;
  return {
    format,
    hasAlpha,
    inputBytes: pixels * perPixel,
    outputBytes: pixels * Math.max(perPixel, OUTPUT_BYTES_PER_PIXEL[format]),
  };
}

/**
 * Most images are read line by line or at a fraction of their size. An interlaced PNG is unpacked completely, a progressive
 * JPEG with two bytes per sample, and a GIF with its canvas. Measured 2026-11 at 49 megapixels.
 */
function inputBytesPerPixel(format: ImageFormat, { isProgressive, channels, depth, chromaSubsampling }: Metadata) {
  const depthBytes = depth === "ushort" ? 2 : 1;
  if (format === "gif") return 5;
  if (format === "jpeg" && isProgressive) return chromaSubsampling === "4:2:0" ? 3 : 2 * channels;
  if (format === "png" && isProgressive) return depthBytes * (channels + 1);
  return depthBytes;
}

/** Rotates to upright while decoding: without the metadata, nothing would say that a photo is sideways. */
async function open(bytes: Uint8Array, seconds = DECODE_SECONDS_MAX): Promise<Sharp> {
  const sharp = await loadSharp();
  return sharp(bytes, { limitInputPixels: PIXELS_MAX, failOn: "error", pages: 1, autoOrient: true })
    .timeout({ seconds })
    .toColourspace("srgb");
}

async function encode(image: Sharp) {
  return image.toBuffer({ resolveWithObject: true }).catch(refuse);
}

function refuse(error: unknown): never {
  const message = reasonOf(error);
  if (message.includes("exceeds pixel limit")) throw new DecodeRefusal("too-many-pixels", error);
  if (message.startsWith("timeout")) throw new DecodeRefusal("too-slow", error);
  throw new DecodeRefusal("not-an-image", error);
}
