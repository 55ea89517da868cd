import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCodePoint } from "../../../test/support/any-code-point.ts";
import { drawSandboxImage } from "./image.ts";
import { countInputTokens, writeSandboxText, type TextParts } from "./text.ts";

const parts: TextParts = {
  model: "sandbox/text",
  reasoning: "medium",
  instructions: "Write for a child.",
  prompt: "A poem about tea",
  images: [],
  maxOutputTokens: 2_048,
};

describe("the text of the sandbox", () => {
  test("first says that it is not from a model, then what arrived, then the rendered prompt", () => {
    expect(writeSandboxText(parts, {})).toEqual({
      text: "[sandbox output, not an AI model]\nmodel: sandbox/text\nreasoning: medium\nimages: 0\n\n---\nWrite for a child.\nA poem about tea",
      isTruncated: false,
      outputTokens: 31, // 122 bytes
    });
  });

  test("says how many web searches it was to make, and nothing if it was to make none", () => {
    expect(writeSandboxText({ ...parts, searches: 2 }, {}).text).toContain(
      "reasoning: medium\nweb searches: 2\nimages: 0",
    );
    expect(writeSandboxText({ ...parts, searches: null }, {})).toEqual(writeSandboxText(parts, {}));
  });

  test("has one line per image with type, dimensions, and bytes", async () => {
    const png = await drawSandboxImage({ subject: "x", itemIndex: 0, size: { width: 96, height: 64 }, images: [] });
    const jpeg = Buffer.from("ffd8ffe000104a46494600010100000100010000ffc0000b080011002201011100", "hex");
    const images = [png, jpeg, Buffer.from("hello")].map((bytes) => ({ bytes }));
    const { text } = writeSandboxText({ ...parts, images, reasoning: null }, {});
    expect(text.split("\n").slice(2, 7)).toEqual([
      "reasoning: provider-default",
      "images: 3",
      `png, 96 x 64, ${png.length} bytes`,
      `jpeg, 34 x 17, ${jpeg.length} bytes`,
      "unreadable, 5 bytes",
    ]);
  });

  test("is cut at 4 bytes per output token on a code point boundary, and says so", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint }), fc.integer({ min: 1, max: 60 }), (prompt, maxOutputTokens) => {
        const whole = writeSandboxText({ ...parts, prompt }, {}).text;
        const { text, isTruncated, outputTokens } = writeSandboxText({ ...parts, prompt, maxOutputTokens }, {});
        expect(whole.startsWith(text)).toBe(true);
        expect(isTruncated).toBe(text !== whole);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxOutputTokens * 4);
        // A code point has at most 4 bytes, so at most 3 may be lost.
        expect(Buffer.byteLength(text)).toBeGreaterThan(isTruncated ? maxOutputTokens * 4 - 4 : 0);
        expect(outputTokens).toBe(Math.ceil(Buffer.byteLength(text) / 4));
      }),
    );
  });

  test("`tokens=N` returns exactly N tokens of text, longer or shorter than the echo", () => {
    for (const tokens of [1, 7, 500]) {
      const written = writeSandboxText({ ...parts, prompt: "ünï ☕ 🫖".repeat(9) }, { tokens });
      expect(Buffer.byteLength(written.text)).toBe(tokens * 4);
      expect(written).toMatchObject({ outputTokens: tokens, isTruncated: false });
    }
  });

  test("`tokens=N` is capped by the call's limit", () => {
    const written = writeSandboxText({ ...parts, maxOutputTokens: 100 }, { tokens: 101 });
    expect(written).toMatchObject({ outputTokens: 100, isTruncated: true });
    expect(Buffer.byteLength(written.text)).toBe(400);
  });

  test("`size=KB` returns a text of that size, beyond every limit", () => {
    const written = writeSandboxText({ ...parts, maxOutputTokens: 10 }, { size: 3 });
    expect(Buffer.byteLength(written.text)).toBe(3_072);
    expect(written).toMatchObject({ outputTokens: 768, isTruncated: false });
  });

  test("`dirty` returns characters that a database or a terminal cannot handle", () => {
    const { text } = writeSandboxText(parts, { dirty: true });
    expect(text).toContain("\u0000");
    expect(text).toContain("\ufeff");
    expect(text.isWellFormed()).toBe(false);
  });

  test("`empty` is a success without text", () => {
    expect(writeSandboxText(parts, { empty: true })).toEqual({ text: "", isTruncated: false, outputTokens: 0 });
  });
});

test("input tokens are a quarter of the bytes, rounded up, and 85 per image", () => {
  expect(countInputTokens(["", ""], 0)).toBe(0);
  expect(countInputTokens(["äb", "cd"], 0)).toBe(2); // 3 + 2 bytes
  expect(countInputTokens(["abcd"], 2)).toBe(171);
});
