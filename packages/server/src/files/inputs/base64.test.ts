import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeChunks, decodeHead, measureBase64 } from "./base64.ts";

/** The interface's rule, implemented the slow way. */
function measureSlowly(text: string): number | null {
  const digits = text.replace(/[\r\n \t]/g, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(digits) || digits.length % 4 !== 0) return null;
  return Buffer.from(digits, "base64").length;
}

const blank = fc.constantFrom("\r\n", " ", "\t", "\n", "  \r");

/** Base64 of random bytes with white space anywhere. */
const wrapped = fc
  .tuple(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.array(fc.tuple(fc.nat(300), blank), { maxLength: 8 }))
  .map(([bytes, blanks]) => {
    let text = Buffer.from(bytes).toString("base64");
    for (const [at, space] of blanks) text = text.slice(0, at) + space + text.slice(at);
    return { bytes, text };
  });

describe("measuring Base64", () => {
  test("agrees with the stated rule on well-formed text", () => {
    fc.assert(
      fc.property(wrapped, ({ bytes, text }) => {
        expect(measureBase64(text)).toBe(bytes.length);
      }),
    );
  });

  test("agrees with the stated rule on any text of related characters", () => {
    const characters = fc.constantFrom(...Array.from("ABab09+/==\r\n\t -_\0\u00e9\u4e2d"));
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 24 }), (text) => {
        expect(measureBase64(text)).toBe(measureSlowly(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    "=",
    "====",
    "A",
    "AB",
    "ABC",
    "A===",
    "AB=C",
    "ABC==",
    "ABCD=",
    "AB==\nCD==",
    "AAAA-_-_",
    "AAAA\0",
    "AAAAé===",
  ])("%o is not Base64", (text) => expect(measureBase64(text)).toBeNull());
});

describe("decoding Base64 piece by piece", () => {
  test("returns the same bytes as decoding at once, for text in several pieces with white space at their boundaries", () => {
    const bytes = Buffer.alloc(4_000_003, "promptd");
    const text = bytes.toString("base64");
    for (const width of [76, 1_048_576, 1_048_575, 3]) {
      const lines = (text.match(new RegExp(`.{1,${width}}`, "g")) ?? []).join("\r\n");
      const pieces = [...decodeChunks(lines)];
      expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
      expect(pieces.length).toBeGreaterThan(3);
    }
  });

  test("returns the same bytes for any line wrapping", () => {
    fc.assert(
      fc.property(wrapped, ({ bytes, text }) => {
        expect(Buffer.concat([...decodeChunks(text)]).equals(Buffer.from(bytes))).toBe(true);
      }),
    );
  });

  test("the head is the first bytes, whatever white space precedes or separates them", () => {
    fc.assert(
      fc.property(wrapped, fc.integer({ min: 1, max: 12 }), ({ bytes, text }, count) => {
        expect(Array.from(decodeHead(text, count))).toEqual(Array.from(bytes.slice(0, count)));
      }),
    );
  });
});
