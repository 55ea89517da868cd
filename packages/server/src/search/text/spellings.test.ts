import { expect, test } from "vitest";
import { otherSpellings, spellOut, splitWord } from "./spellings.ts";
import { Vocabulary } from "./vocabulary.ts";

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
])("%s and %s are one word, whichever one is searched", (british, american) => {
  expect(otherSpellings(british)).toContain(american);
  expect(otherSpellings(american)).toContain(british);
});

test("letters that a keyboard lacks may be written as two", () => {
  expect(otherSpellings("fuessen")).toContain("fussen");
  expect(otherSpellings("paediatric")).toContain("pediatric");
});

test("short words and words in other scripts have one spelling", () => {
  for (const word of ["hour", "tier", "film", "москва", "c++"]) expect(otherSpellings(word)).toEqual([]);
});

function vocabularyOf(words: Readonly<Record<string, number>>): Vocabulary {
  const vocabulary = new Vocabulary();
  for (const [word, titles] of Object.entries(words)) vocabulary.set(word, titles, titles);
  return vocabulary;
}

test("two words written as one are split, by the more common of several ways", () => {
  expect(splitWord("weatherchart", vocabularyOf({ weather: 5, chart: 5 }))).toEqual(["weather", "chart"]);
  expect(splitWord("superbowl", vocabularyOf({ super: 9, bowl: 9, superb: 3, owl: 3 }))).toEqual(["super", "bowl"]);
});

test("a word is not split if a part is short, rare, or in no title", () => {
  expect(splitWord("toolbox", vocabularyOf({ tool: 9, box: 1 }))).toBeNull();
  expect(splitWord("carpet", vocabularyOf({ ca: 9, rpet: 9 }))).toBeNull();
  expect(splitWord("carpet", vocabularyOf({ car: 9 }))).toBeNull();
});

test("a number between two letters stands for that many letters", () => {
  const vocabulary = vocabularyOf({ kubernetes: 3, kilometers: 9, localization: 2, kindnesses: 4 });
  expect(spellOut("l10n", vocabulary)).toBe("localization");
  expect(spellOut("k8s", vocabularyOf({ kubernetes: 3, kindnesses: 1 }))).toBe("kubernetes");
  const tagged = vocabularyOf({ kindnesses: 0 });
  tagged.set("kubernetes", 3, 0);
  tagged.set("kilometers", 1, 0);
  expect(spellOut("k8s", tagged)).toBe("kubernetes"); // it occurs only in tags and descriptions
  expect(spellOut("b2b", vocabularyOf({ bulb: 9 }))).toBeNull();
  for (const word of ["k8x", "k1s", "8ks", "k8", "kubernetes"]) expect(spellOut(word, vocabulary)).toBeNull();
});
