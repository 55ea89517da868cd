import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import sharp, { type Sharp } from "sharp";
import { describe, expect, test } from "vitest";
import { chunk, writePng } from "../../../test/files/png-bytes.ts";
import { encodeOutput, encodeSample, estimateDecodedBytes, prepareForModel, type DecodeFault } from "./decode.ts";

const LIMITS = { bytesMax: 10_000_000, sideMax: 4_096 };

/** 40 x 20: left half red, right half blue. */
function halves(alpha = 1): Sharp {
  const half = (background: string) => ({ create: { width: 20, height: 20, channels: 3, background } }) as const;
  return sharp({ create: { width: 40, height: 20, channels: 4, background: { r: 0, g: 0, b: 255, alpha } } }).composite(
    [{ input: half("red"), left: 0, top: 0 }],
  );
}

async function faultOf(work: Promise<unknown>): Promise<DecodeFault | "taken"> {
  return work.then(
    () => "taken",
    (error: { fault: DecodeFault }) => error.fault,
  );
}

/** The colors of the four corners, clockwise from the top left. */
async function cornersOf(bytes: Uint8Array): Promise<string> {
  const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => ((data[(y * info.width + x) * 3] ?? 0) > 128 ? "r" : "b");
  const [right, bottom] = [info.width - 1, info.height - 1];
  return at(0, 0) + at(right, 0) + at(right, bottom) + at(0, bottom);
}

describe("images for a model", () => {
  test.each(["png", "jpeg", "webp", "gif"] as const)("%s is accepted", async (format) => {
    const loaded = await prepareForModel(await halves()[format]().toBuffer(), LIMITS);
    expect(await sharp(loaded.bytes).metadata()).toMatchObject({
      width: 40,
      height: 20,
      space: "srgb",
      depth: "uchar",
    });
  });

  test("an image with transparency becomes a PNG, any other a JPEG", async () => {
    const clear = await prepareForModel(await halves(0.5).webp().toBuffer(), LIMITS);
    const opaque = await prepareForModel(await halves().removeAlpha().png().toBuffer(), LIMITS);
    expect([clear.mediaType, opaque.mediaType]).toEqual(["image/png", "image/jpeg"]);
    expect([(await sharp(clear.bytes).metadata()).format, (await sharp(opaque.bytes).metadata()).format]).toEqual([
      "png",
      "jpeg",
    ]);
  });

  // Red is on the left in the stored pixels; the EXIF standard's eight values say where it must appear.
  test.each([
    [1, 40, 20, "rbbr"],
    [2, 40, 20, "brrb"],
    [3, 40, 20, "brrb"],
    [4, 40, 20, "rbbr"],
    [5, 20, 40, "rrbb"],
    [6, 20, 40, "rrbb"],
    [7, 20, 40, "bbrr"],
    [8, 20, 40, "bbrr"],
  ])(
    "a photo with orientation %i is turned upright before its metadata is removed",
    async (orientation, width, height, corners) => {
      const photo = await halves().removeAlpha().withMetadata({ orientation }).jpeg().toBuffer();
      expect((await sharp(photo).metadata()).orientation).toBe(orientation);
      const loaded = await prepareForModel(photo, LIMITS);
      const found = await sharp(loaded.bytes).metadata();
      expect([found.width, found.height, found.orientation]).toEqual([width, height, undefined]);
      expect(await cornersOf(loaded.bytes)).toBe(corners);
    },
  );

  test("position, camera, color profile, and comments are gone", async () => {
    const photo = await halves()
      .removeAlpha()
      .withExif({ IFD0: { Copyright: "CANARY-EXIF" }, IFD3: { GPSLatitude: "52/1 31/1 0/1", GPSLatitudeRef: "N" } })
      .withXmp("<x:xmpmeta xmlns:x='adobe:ns:meta/'>CANARY-XMP</x:xmpmeta>")
      .withIccProfile("p3")
      .jpeg()
      .toBuffer();
    expect(photo.includes("CANARY-EXIF") && photo.includes("CANARY-XMP")).toBe(true);
    for (const { bytes } of [await prepareForModel(photo, LIMITS), await encodeOutput(photo)]) {
      const found = await sharp(bytes).metadata();
      expect([found.exif, found.xmp, found.icc, found.iptc]).toEqual([undefined, undefined, undefined, undefined]);
      expect(Buffer.from(bytes).includes("CANARY")).toBe(false);
    }
  });

  test("16-bit, gray, and CMYK become 8-bit sRGB", async () => {
    for (const image of [
      await halves().removeAlpha().toColourspace("rgb16").png().toBuffer(),
      await halves().removeAlpha().greyscale().jpeg().toBuffer(),
      await halves().removeAlpha().toColourspace("cmyk").jpeg().toBuffer(),
    ]) {
      const { bytes } = await prepareForModel(image, LIMITS);
      expect(await sharp(bytes).metadata()).toMatchObject({ space: "srgb", depth: "uchar", channels: 3 });
    }
  });

  test.each([
    [4_096, 2_048, 1_024],
    [512, 512, 256],
  ])("a side is at most 2,048 pixels and the model's %i", async (sideMax, width, height) => {
    const wide = await sharp({ create: { width: 3_000, height: 1_500, channels: 3, background: "red" } })
      .jpeg()
      .toBuffer();
    const { bytes } = await prepareForModel(wide, { ...LIMITS, sideMax });
    expect(await sharp(bytes).metadata()).toMatchObject({ width, height });
  });

  test("a small image is not enlarged", async () => {
    const { bytes } = await prepareForModel(await halves().png().toBuffer(), LIMITS);
    expect((await sharp(bytes).metadata()).width).toBe(40);
  });

  test("an image over the model's byte limit is shrunk until it fits; one that never fits is refused", async () => {
    const noise = { raw: { width: 800, height: 800, channels: 4 } } as const;
    const image = await sharp(randomBytes(800 * 800 * 4), noise)
      .png()
      .toBuffer();
    const { bytes } = await prepareForModel(image, { bytesMax: 300_000, sideMax: 2_048 });
    expect(bytes.byteLength).toBeLessThanOrEqual(300_000);
    expect((await sharp(bytes).metadata()).width).toBeGreaterThan(150);
    expect(await faultOf(prepareForModel(image, { bytesMax: 500, sideMax: 2_048 }))).toBe("too-large");
  });

  test("the first frame of an animation is used", async () => {
    const frames = Buffer.concat([Buffer.alloc(10 * 10 * 3, 0), Buffer.alloc(10 * 10 * 3, 255)]);
    const raw = { width: 10, height: 20, channels: 3, pageHeight: 10 } as const;
    const animation = await sharp(frames, { raw })
      .gif({ delay: [100, 100] })
      .toBuffer();
    expect((await sharp(animation).metadata()).pages).toBe(2);
    const { bytes } = await prepareForModel(animation, LIMITS);
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height, data[0]]).toEqual([10, 10, 0]);
  });
});

describe("anything that is not an image", () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
  const tiff = async () => halves().tiff().toBuffer();
  const avif = async () => halves().avif().toBuffer();

  test.each<[string, () => Promise<Buffer>]>([
    ["an SVG", async () => Buffer.from(svg)],
    ["an SVG after a PNG's first bytes", async () => Buffer.from(`\x89PNG\r\n\x1a\n${svg}`, "latin1")],
    ["a TIFF", tiff],
    ["an AVIF", avif],
    ["a PDF", async () => Buffer.from("%PDF-1.7\n1 0 obj\n<<>>\nendobj\n")],
    ["text", async () => Buffer.from("not an image at all")],
    ["nothing", async () => Buffer.alloc(0)],
    ["only a PNG header", async () => Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1")],
    ["only a GIF header", async () => Buffer.from("GIF89a")],
    ["half a JPEG", async () => sharp(randomBytes(90_000), raw(300, 100)).jpeg().toBuffer().then(firstHalf)],
    ["half a PNG", async () => sharp(randomBytes(90_000), raw(300, 100)).png().toBuffer().then(firstHalf)],
    ["half a WebP", async () => sharp(randomBytes(90_000), raw(300, 100)).webp().toBuffer().then(firstHalf)],
  ])("%s is refused", async (_name, make) => {
    const bytes = await make();
    expect(await faultOf(prepareForModel(bytes, LIMITS))).toBe("not-an-image");
    expect(await faultOf(encodeOutput(bytes))).toBe("not-an-image");
  });

  const raw = (width: number, height: number) => ({ raw: { width, height, channels: 3 } }) as const;
  const firstHalf = (bytes: Buffer) => bytes.subarray(0, bytes.length / 2);

  test("no other decoder is left in the process, even for code that bypasses this check", async () => {
    const refused = "unsupported image format";
    for (const bytes of [Buffer.from(svg), await tiff(), await avif()]) {
      await expect(sharp(bytes).metadata()).rejects.toThrow(refused);
    }
    const directory = await mkdtemp(join(tmpdir(), "promptd-decode-"));
    const path = join(directory, "image.png");
    await writeFile(path, await halves().png().toBuffer());
    await expect(sharp(path).metadata()).rejects.toThrow(refused);
    await rm(directory, { recursive: true });
  });

  test("a file name is never opened, whatever the loader would do with it", async () => {
    expect(await faultOf(prepareForModel(Buffer.from("/etc/hostname"), LIMITS))).toBe("not-an-image");
  });
});

describe("bombs", () => {
  test.each<[string, () => Buffer]>([
    [
      "a PNG of 2.5 gigapixels",
      () => writePng({ width: 50_000, height: 50_000, depth: 1, color: 0 }, Buffer.alloc(1_000_000)),
    ],
    [
      "a PNG of 8,193 pixels per side",
      () => writePng({ width: 8_193, height: 1, depth: 1, color: 0 }, Buffer.alloc(1_026)),
    ],
    [
      "a PNG of 50.3 megapixels",
      () => writePng({ width: 8_192, height: 6_144, depth: 1, color: 0 }, Buffer.alloc(1_025 * 6_144)),
    ],
    ["a GIF of 4 gigapixels", () => gifOf(65_535, 65_535)],
  ])("%s is refused by its header, without allocating memory", async (_name, make) => {
    const bytes = make();
    const before = process.memoryUsage.rss();
    expect(await faultOf(prepareForModel(bytes, LIMITS))).toBe("too-many-pixels");
    expect(await faultOf(encodeOutput(bytes))).toBe("too-many-pixels");
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1_048_576);
  });

  test("an image that needs too much memory to unpack is refused by its header", async () => {
    const shape = { width: 8_192, height: 6_000, color: 6, isInterlaced: true };
    const deep = writePng({ ...shape, depth: 16 }, Buffer.alloc(1_000));
    expect(await faultOf(prepareForModel(deep, LIMITS))).toBe("too-much-memory");
    const flat = writePng({ ...shape, depth: 8 }, Buffer.alloc(1_000));
    expect(await estimateDecodedBytes(flat, "input")).toBeLessThan(256 * 1_048_576);
  });

  test("an image that takes too long is refused, even between two rounds that are each short enough", async () => {
    const noise = await sharp(randomBytes(3_000_000), { raw: { width: 1_000, height: 1_000, channels: 3 } })
      .png({ compressionLevel: 1 })
      .toBuffer();
    const small = { bytesMax: 100_000, sideMax: 4_096 }; // reached in the second round
    expect(await faultOf(prepareForModel(noise, small))).toBe("taken");
    expect(await faultOf(prepareForModel(noise, small, 0.001))).toBe("too-slow");
  });

  test.each([
    ["png", {}, 1],
    ["png", { progressive: true }, 5],
    ["jpeg", {}, 1],
    ["jpeg", { progressive: true }, 3],
    ["jpeg", { progressive: true, chromaSubsampling: "4:4:4" }, 6],
    ["webp", {}, 1],
    ["gif", {}, 5],
  ] as const)("a %s with %j is estimated at %i bytes per pixel", async (format, options, perPixel) => {
    const image = format === "jpeg" ? halves().removeAlpha() : halves(0.5);
    const bytes = await image.toFormat(format, options).toBuffer();
    expect(await estimateDecodedBytes(bytes, "input")).toBe(40 * 20 * perPixel);
  });

  test("exactly 8,192 pixels per side and 50 megapixels are accepted", async () => {
    const image = writePng({ width: 8_192, height: 6_103, depth: 1, color: 0 }, Buffer.alloc(1_025 * 6_103));
    expect(await faultOf(prepareForModel(image, LIMITS))).toBe("taken");
  });

  test.each(["zTXt", "iCCP"])("a compressed %s part of 100 MB costs no memory", async (name) => {
    const image = writePng({ width: 8, height: 8, depth: 8, color: 2 }, Buffer.alloc(25 * 8));
    const part = chunk(
      name,
      Buffer.concat([Buffer.from("x\0\0", "latin1"), deflateSync(Buffer.alloc(100_000_000, 65))]),
    );
    const bytes = Buffer.concat([image.subarray(0, 33), part, image.subarray(33)]);
    const before = process.memoryUsage.rss();
    const outcome = await faultOf(prepareForModel(bytes, LIMITS));
    expect(["taken", "not-an-image"]).toContain(outcome);
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1_048_576);
  });
});

/** A one-frame GIF whose header claims any size. */
function gifOf(width: number, height: number): Buffer {
  const bytes = Buffer.from("474946383961ffffffff0000002c00000000ffffffff0002024c01003b", "hex");
  for (const at of [6, 18]) bytes.writeUInt16LE(width, at);
  for (const at of [8, 20]) bytes.writeUInt16LE(height, at);
  return bytes;
}

describe("generated images", () => {
  test.each([
    ["png", "image/png"],
    ["jpeg", "image/jpeg"],
    ["webp", "image/webp"],
    ["gif", "image/png"],
  ] as const)("%s is published as %s", async (format, mediaType) => {
    const encoded = await encodeOutput(await halves()[format]().toBuffer());
    expect(encoded.mediaType).toBe(mediaType);
    expect((await sharp(encoded.bytes).metadata()).mediaType).toBe(mediaType);
  });

  test.each(["png", "webp"] as const)("%s keeps every pixel", async (format) => {
    const noise = sharp(randomBytes(64 * 64 * 4), { raw: { width: 64, height: 64, channels: 4 } });
    const source = await noise.toFormat(format, { lossless: true }).toBuffer();
    const pixels = (bytes: Buffer) => sharp(bytes).ensureAlpha().raw().toBuffer();
    const encoded = await encodeOutput(source);
    expect((await pixels(encoded.bytes)).equals(await pixels(source))).toBe(true);
  });

  test("data hidden behind or inside an image is not published", async () => {
    const archive = Buffer.from("PK\x03\x04<script>alert('CANARY')</script>", "latin1");
    const behind = Buffer.concat([await halves().png().toBuffer(), archive]);
    const image = await halves().removeAlpha().jpeg().toBuffer();
    const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, archive.length + 2]), archive]);
    const inside = Buffer.concat([image.subarray(0, 2), comment, image.subarray(2)]);
    for (const polyglot of [behind, inside]) {
      expect(polyglot.includes("CANARY")).toBe(true);
      expect((await encodeOutput(polyglot)).bytes.includes("CANARY")).toBe(false);
    }
  });
});

test("a picture for pages becomes a WebP of at most 1,024 pixels per side, and keeps its transparency", async () => {
  const background = { r: 0, g: 0, b: 255, alpha: 0.5 };
  const picture = (width: number, height: number) =>
    sharp({ create: { width, height, channels: 4, background } })
      .png()
      .toBuffer();
  const large = await encodeSample(await picture(2_048, 1_024));
  expect(large.mediaType).toBe("image/webp");
  expect(await sharp(large.bytes).metadata()).toMatchObject({
    mediaType: "image/webp",
    width: 1_024,
    height: 512,
    hasAlpha: true,
  });
  const small = await encodeSample(await picture(40, 20));
  expect(await sharp(small.bytes).metadata()).toMatchObject({ width: 40, height: 20 });
});
