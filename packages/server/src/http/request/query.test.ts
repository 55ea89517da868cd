import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseQuery, plainPath, rawQuery } from "./query.ts";

test("parseQuery reads back what a browser writes", () => {
  const pair = fc.tuple(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }));
  fc.assert(
    fc.property(fc.array(pair), (pairs) => {
      const named = pairs.filter(([name, value]) => name !== "" && (name + value).isWellFormed());
      const read = parseQuery(new URLSearchParams(named).toString());
      expect(read.map(({ name, value }) => [name, value])).toEqual(named);
    }),
  );
});

test.each([
  ["a", [["a", ""]]],
  [
    "a=&&b=1=2",
    [
      ["a", ""],
      ["b", "1=2"],
    ],
  ],
  ["a=%41%2b+", [["a", "A+ "]]],
  ["a=%ff", [["a", null]]],
  ["%zz=1", [[null, "1"]]],
  ["a=é", [["a", null]]],
  ["", []],
])("parseQuery(%j)", (query, expected) => {
  expect(parseQuery(query).map(({ name, value }) => [name, value])).toEqual(expected);
});

test("plainPath and rawQuery split at the first question mark", () => {
  expect(plainPath("//v1///runs//?a=/b/")).toBe("/v1/runs");
  expect(plainPath("/")).toBe("/");
  expect(rawQuery("/v1/runs?a=?b")).toBe("a=?b");
  expect(rawQuery("/v1/runs")).toBe("");
});
