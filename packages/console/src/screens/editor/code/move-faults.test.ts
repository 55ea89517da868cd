import { expect, test } from "vitest";
import { moveFaults } from "./move-faults.ts";

const FILE = "one\ntwo\nthree\nfour\nfive";
const linesAfter = (after: string) =>
  moveFaults([{ line: 2 }, { line: 4 }, { line: null }], FILE, after).map(({ line }) => line);

test.each([
  ["stay if nothing above them changed", "one\ntwo\nthree\nfour\nfive!\nsix", [2, 4, null]],
  ["move down when lines are added above them", "one\ntwo\n\n\nthree\nfour\nfive", [2, 6, null]],
  ["move up when lines above them are removed", "one\ntwo\nfour\nfive", [2, 3, null]],
  ["stay inside a text that lost their own lines", "one", [1, 1, null]],
  ["stay inside a completely different text", "other\ntext", [2, 2, null]],
])("faults %s", (_, after, lines) => {
  expect(linesAfter(after)).toEqual(lines);
});
