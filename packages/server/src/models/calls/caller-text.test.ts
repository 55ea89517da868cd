import * as fc from "fast-check";
import { expect, test } from "vitest";
import { anyCodePoint } from "../../../test/support/any-code-point.ts";
import { cleanText, TEXT_BYTES_MAX } from "./caller-text.ts";

test("any text becomes well-formed, without U+0000, and within the limit", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint }), fc.constantFrom("", "\ud800", "\u0000", "é", "😀"), (text, odd) => {
      const { text: clean } = cleanText(text + odd);
      expect(clean.isWellFormed()).toBe(true);
      expect(clean).not.toContain("\u0000");
    }),
  );
});

test("a text over the limit is cut between code points", () => {
  const { text, isCut } = cleanText(`a${"😀".repeat(TEXT_BYTES_MAX / 4)}`);
  expect(isCut).toBe(true);
  expect(Buffer.byteLength(text)).toBe(TEXT_BYTES_MAX - 3);
  expect(text.isWellFormed()).toBe(true);
  expect(cleanText("x".repeat(TEXT_BYTES_MAX))).toMatchObject({ isCut: false });
});
