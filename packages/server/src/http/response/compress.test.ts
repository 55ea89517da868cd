import { expect, test } from "vitest";
import { takesBrotli } from "./compress.ts";

test.each([
  [null, false],
  ["", false],
  ["gzip, deflate, br, zstd", true],
  ["BR", true],
  ["br;q=1", true],
  ["br ; q=1.000", true],
  ["gzip;q=1.0, br;q=0.001", true],
  ["br;q=0", false],
  ["br;q=0.000", false],
  ["br;q=2", false],
  ["brotli", false],
])("Accept-Encoding: %s accepts Brotli: %s", (header, isAccepted) => {
  expect(takesBrotli(header)).toBe(isAccepted);
});

test("a weight of a million digits is read in one pass", () => {
  expect(takesBrotli(`br;q=0.${"2".repeat(2 ** 20)}x`)).toBe(false); // going back and forth in it would take hours
});
