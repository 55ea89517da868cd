import { expect, test } from "vitest";
import { otherSpellings } from "./spelling-variants.ts";

test.each([
  ["optimise", "optimize"],
  ["organisations", "organizations"],
  ["analysing", "analyzing"],
  ["behaviour", "behavior"],
  ["colouring", "coloring"],
  ["favourites", "favorites"],
  ["centre", "center"],
  ["theatres", "theaters"],
  ["catalogue", "catalog"],
  ["travelling", "traveling"],
  ["counsellor", "counselor"],
  ["defence", "defense"],
  ["programme", "program"],
])("%s and %s are one word, whichever of them is asked for", (british, american) => {
  expect(otherSpellings(british)).toContain(american);
  expect(otherSpellings(american)).toContain(british);
});

test("letters that a keyboard lacks are written as two", () => {
  expect(otherSpellings("fuessen")).toContain("fussen");
  expect(otherSpellings("paediatric")).toContain("pediatric");
});

test("short words and words of other scripts have one spelling", () => {
  for (const word of ["hour", "tier", "film", "москва", "c++"]) expect(otherSpellings(word)).toEqual([]);
});
