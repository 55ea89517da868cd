import { describe, expect, test } from "vitest";
import { checkImageInputs } from "./image-inputs.ts";

const MEBIBYTE = 1_048_576;
const PNG_HEAD = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");

function pngOf(bytes: number): string {
  return Buffer.concat([PNG_HEAD, Buffer.alloc(bytes - PNG_HEAD.length, 7)]).toString("base64");
}

const base64 = (text: string) => ({ type: "base64", base64: text });
const url = (text: string) => ({ type: "url", url: text });
const messagesOf = (...images: unknown[]) => checkImageInputs(images).map((issue) => issue.message);

describe("the format of an image", () => {
  test.each([
    [{ type: "file", file: "x" }, 'Image 1 has the type "file"; supported types are "url" and "base64".'],
    [{ type: "URL", url: "x" }, 'Image 1 has the type "URL"; supported types are "url" and "base64".'],
    [{ url: "https://example.org/a.png" }, 'Image 1 has no type; supported types are "url" and "base64".'],
    [{ type: 7 }, 'Image 1 has a type that is a number; supported types are "url" and "base64".'],
    [{ type: "\u202eepyt" }, 'Image 1 has the type "\\u202eepyt"; supported types are "url" and "base64".'],
    [{ type: "a\u001b[31m\0" }, 'Image 1 has the type "a\\u001b[31m\\u0000"; supported types are "url" and "base64".'],
    [{ type: "t".repeat(90) }, `Image 1 has the type "${"t".repeat(40)}…"; supported types are "url" and "base64".`],
  ])("a type other than url and base64 is reported: %o", (image, message) => {
    const issues = checkImageInputs([image]);
    expect(issues).toEqual([
      { path: ["body", "inputs", "imageInputs", 0, "type"], code: "unsupported_image_type", message },
    ]);
  });

  test.each([
    ["https://example.org/a.png", "a string"],
    [null, "null"],
    [[], "an array"],
    [7, "a number"],
  ])("an element that is not an object is reported: %o", (image, type) => {
    expect(messagesOf(image)).toEqual([`Image 1 must be an object, got ${type}.`]);
  });

  test.each([
    [{ type: "url" }, "required", 'Image 1 has the type "url" but no url.'],
    [{ type: "url", url: null }, "required", 'Image 1 has the type "url" but no url.'],
    [{ type: "base64", url: "https://example.org" }, "required", 'Image 1 has the type "base64" but no base64.'],
    [{ type: "url", url: 5 }, "invalid_type", "Image 1: url must be a string, got a number."],
    [{ type: "base64", base64: {} }, "invalid_type", "Image 1: base64 must be a string, got an object."],
  ])("the field that the type names must be a string: %o", (image, code, message) => {
    expect(checkImageInputs([image])).toMatchObject([{ code, message }]);
  });

  test("other members are ignored", () => {
    expect(messagesOf({ ...base64(pngOf(40)), url: "http://x", name: "cat" })).toEqual([]);
  });

  test("an inherited field does not count", () => {
    const image = Object.create({ type: "url", url: "https://example.org/a.png" }) as object;
    expect(messagesOf(image)).toHaveLength(1);
  });

  test("every image's issue is reported, with its own number", () => {
    expect(messagesOf(url("http://example.org/"), base64(pngOf(40)), base64("?"))).toEqual([
      "Image 1: the URL must begin with https://.",
      "Image 3 is not valid Base64. Send the bytes of the file in the standard alphabet, with padding.",
    ]);
  });

  test("33 images are too many, 32 are checked", () => {
    const images = Array.from({ length: 33 }, () => base64(pngOf(40)));
    expect(checkImageInputs(images)).toEqual([
      {
        path: ["body", "inputs", "imageInputs"],
        code: "too_many",
        message: "At most 32 images are allowed, got 33.",
      },
    ]);
    expect(checkImageInputs(images.slice(1))).toEqual([]);
  });
});

describe("the format of an address", () => {
  test.each([
    "https://example.org/a.png",
    "HTTPS://EXAMPLE.ORG/",
    "https://example.org:443/a.png",
    "https://xn--bcher-kva.example/ü?q=1#part",
    "https://bücher.example/",
    "https://8.8.8.8/a.png",
    "https://[2606:4700:4700::1111]/a.png",
    "  https://example.org/a.png  ",
  ])("%s is accepted", (text) => {
    expect(messagesOf(url(text))).toEqual([]);
  });

  test.each([
    ["http://example.org/a.png", "the URL must begin with https://."],
    ["ftp://example.org/a.png", "the URL must begin with https://."],
    ["data:image/png;base64,iVBORw0KGgo=", "the URL must begin with https://."],
    ["example.org/a.png", "the URL must begin with https://."],
    ["//example.org/a.png", "the URL must begin with https://."],
    ["", "the URL must begin with https://."],
    ["https://", "the URL is not valid. Use a URL such as https://example.org/photo.png."],
    ["https://exa mple.org/", "the URL is not valid. Use a URL such as https://example.org/photo.png."],
    ["https://[fe80::1%25eth0]/", "the URL is not valid. Use a URL such as https://example.org/photo.png."],
    ["https://example.org:8443/", "the URL must use port 443."],
    ["https://user@example.org/", "the URL must not contain a user name or password."],
    ["https://:secret@example.org/", "the URL must not contain a user name or password."],
    ["https://intranet/a.png", "the URL must be publicly accessible."],
    ["https://localhost/a.png", "the URL must be publicly accessible."],
    ["https://10.0.0.1/a.png", "the URL must be publicly accessible."],
    [`https://example.org/${"a".repeat(2_029)}`, "the URL is longer than 2,048 characters."],
    ["https://example.org/\0", "the URL contains a character that is not allowed."],
    ["https://example.org/\ud800", "the URL contains a character that is not allowed."],
  ])("%s is refused", (text, message) => {
    expect(messagesOf(url(text))).toEqual([`Image 1: ${message}`]);
  });

  test("2,048 characters are accepted", () => {
    expect(messagesOf(url(`https://example.org/${"a".repeat(2_028)}`))).toEqual([]);
  });
});

describe("the format of Base64 data", () => {
  test.each([
    ["PNG", PNG_HEAD],
    ["JPEG", Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 74, 70, 73, 70, 0, 1])],
    ["WebP", Buffer.from("RIFF\x10\0\0\0WEBPVP8 ", "latin1")],
    ["GIF", Buffer.from("GIF89a\x01\0\x01\0\0\0", "latin1")],
  ])("%s is recognized by its first bytes", (_name, bytes) => {
    expect(messagesOf(base64(bytes.toString("base64")))).toEqual([]);
  });

  test.each([
    ["an SVG", '<svg xmlns="http://www.w3.org/2000/svg"/>'],
    ["a page", "<!doctype html><p>PNG</p>"],
    ["a PDF", "%PDF-1.7 ................"],
    ["a TIFF", "II*\0............"],
    ["an AVIF", "\0\0\0\x1cftypavif...."],
    ["a BMP", "BM.............."],
    ["a RIFF that is not WebP", "RIFF\x10\0\0\0WAVEfmt "],
    ["two bytes", "\xff\xd8"],
  ])("%s is refused", (_name, text) => {
    const issues = checkImageInputs([base64(Buffer.from(text, "latin1").toString("base64"))]);
    expect(issues).toEqual([
      {
        path: ["body", "inputs", "imageInputs", 0, "base64"],
        code: "invalid_image",
        message: "Image 1 is not a PNG, JPEG, WebP, or GIF image.",
      },
    ]);
  });

  test.each([
    ["data:image/png;base64,", "data:image/png;base64,"],
    ["DATA:IMAGE/JPEG;BASE64,", "DATA:IMAGE/JPEG;BASE64,"],
    ["\r\n data:;base64,", "data:;base64,"],
    [`data:image/png;name=${"n".repeat(50)};base64,`, `data:image/png;name=${"n".repeat(20)}…`],
  ])("a prefix is quoted so that it can be removed: %o", (prefix, quoted) => {
    expect(messagesOf(base64(prefix + pngOf(40)))).toEqual([
      `Image 1: remove the prefix "${quoted}" and send only the Base64 text.`,
    ]);
  });

  test.each(["", " \r\n\t"])("%o is empty", (text) => {
    expect(messagesOf(base64(text))).toEqual(["Image 1 is empty. Send the bytes of the file as Base64."]);
  });

  test("a size is reported before anything is decoded, and rounded so that it never looks like the limit", () => {
    expect(messagesOf(base64(pngOf(10 * MEBIBYTE)))).toEqual([]);
    expect(messagesOf(base64(pngOf(10 * MEBIBYTE + 1)))).toEqual(["Image 1 is 10.1 MiB; the limit is 10 MiB."]);
    expect(messagesOf(base64("A".repeat(4 * Math.ceil((14.2 * MEBIBYTE) / 3 - 1))))).toEqual([
      "Image 1 is 14.2 MiB; the limit is 10 MiB.",
    ]);
  });

  test("the images of a run are counted together", () => {
    const ten = base64(pngOf(10 * MEBIBYTE));
    expect(messagesOf(ten, ten)).toEqual([]);
    expect(checkImageInputs([ten, ten, base64(pngOf(40))])).toEqual([
      {
        path: ["body", "inputs", "imageInputs"],
        code: "invalid_image",
        message: "The images are 20.1 MiB in total; the limit is 20 MiB.",
      },
    ]);
  });
});
