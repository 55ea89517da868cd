import { Buffer } from "node:buffer";
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import { drawSandboxImage, parseImageSize } from "./image.ts";

const size = { width: 256, height: 192 };

function draw(change: { subject?: string; itemIndex?: number; images?: { bytes: Uint8Array }[] } = {}) {
  return drawSandboxImage({ subject: "a cat", itemIndex: 0, size, images: [], ...change });
}

/** Red, green, and blue of every pixel, as an independent decoder reads them. */
async function decode(png: Uint8Array): Promise<{ at: (x: number, y: number) => string; data: Buffer }> {
  const { data, info } = await sharp(png, { failOn: "warning" })
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect(info).toMatchObject({ ...size, channels: 3 });
  return { data, at: (x, y) => data.subarray((y * size.width + x) * 3, (y * size.width + x) * 3 + 3).toString("hex") };
}

describe("a sandbox picture", () => {
  test("is a PNG that an independent decoder reads without warnings", async () => {
    const png = await draw();
    expect(await sharp(png).metadata()).toMatchObject({ format: "png", ...size });
    await decode(png);
  });

  test("is the same for the same prompt, and differs by prompt, item, and input image", async () => {
    const first = Buffer.from(await draw());
    expect(first.equals(await draw())).toBe(true);
    expect(first.equals(await draw({ subject: "a dog" }))).toBe(false);
    expect(first.equals(await draw({ itemIndex: 1 }))).toBe(false);
    const framed = Buffer.from(await draw({ images: [{ bytes: Buffer.from("one") }] }));
    expect(framed.equals(first)).toBe(false);
    expect(framed.equals(await draw({ images: [{ bytes: Buffer.from("two") }] }))).toBe(false);
  });

  test("shows the word SANDBOX in white on a dark band, even after conversion to JPEG", async () => {
    const { at } = await decode(await draw());
    const { at: jpegAt } = await decode(
      await sharp(await draw())
        .jpeg({ quality: 90 })
        .toBuffer(),
    );
    // Here a dot is 3 pixels wide and the word 41 dots; the first row of each letter, read from the decoded picture.
    const left = Math.floor((size.width - 41 * 3) / 2);
    const top = Math.floor((size.height - 11 * 3) / 2) + 2 * 3;
    const readRow = (row: number, pixel: (x: number, y: number) => string): string =>
      Array.from({ length: 41 }, (_, dot) =>
        Number.parseInt(pixel(left + dot * 3 + 1, top + row * 3 + 1).slice(0, 2), 16) > 128 ? "#" : " ",
      ).join("");
    const rows = [
      " ####  ###  #   # ####  ####   ###  #   #",
      "#     #   # ##  # #   # #   # #   # #   #",
      "#     #   # # # # #   # #   # #   #  # # ",
      " ###  ##### # # # #   # ####  #   #   #  ",
      "    # #   # #  ## #   # #   # #   #  # # ",
      "    # #   # #   # #   # #   # #   # #   #",
      "####  #   # #   # ####  ####   ###  #   #",
    ];
    expect(rows.map((_, row) => readRow(row, at))).toEqual(rows);
    expect(rows.map((_, row) => readRow(row, jpegAt))).toEqual(rows);
  });

  test("has one frame per input image, with the first outermost", async () => {
    const images = ["one", "two"].map((name) => ({ bytes: Buffer.from(name) }));
    const plain = await decode(await draw());
    const framed = await decode(await draw({ images }));
    const thickness = 3; // 192 / 64
    const outer = framed.at(0, 0);
    const inner = framed.at(thickness, thickness);
    expect(new Set([framed.at(size.width - 1, 0), framed.at(0, size.height - 1), framed.at(2, 2), outer]).size).toBe(1);
    expect(framed.at(size.width - 1 - thickness, size.height - 1 - thickness)).toBe(inner);
    expect(outer).not.toBe(inner);
    expect(framed.at(2 * thickness, 2 * thickness)).toBe(plain.at(2 * thickness, 2 * thickness));
  });
});

describe("the size of a picture", () => {
  test("is 512 x 512 unless an option says otherwise", () => {
    expect(parseImageSize(null)).toEqual({ width: 512, height: 512 });
    expect(parseImageSize("1024x256")).toEqual({ width: 1_024, height: 256 });
  });

  test.each(["", "512", "512 x 512", "63x64", "4096x4096", "0512x512x1", "-64x64"])("%j is a 400", (text) => {
    expect(() => parseImageSize(text)).toThrow(expect.objectContaining({ httpStatus: 400 }));
  });
});
