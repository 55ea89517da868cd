import { expect, test } from "vitest";
import { editDistance, suggestName } from "./suggest-name.ts";

test.each([
  ["", "", 0],
  ["abc", "", 3],
  ["serach", "search", 1],
  ["srch", "search", 2],
  ["ab", "ba", 1],
  ["kitten", "sitting", 3],
])("the distance from %j to %j is %i", (left, right, distance) => {
  expect(editDistance(left, right)).toBe(distance);
  expect(editDistance(right, left)).toBe(distance);
});

test("suggests the closest name, and only for a likely typo", () => {
  const known = ["run", "runs list", "search", "serve"];
  expect(suggestName("serch", known)).toBe("search");
  expect(suggestName("sreve", known)).toBe("serve");
  expect(suggestName("rum", known)).toBe("run");
  expect(suggestName("publish", known)).toBeNull();
});
