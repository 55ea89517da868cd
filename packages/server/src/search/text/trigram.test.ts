import { expect, test } from "vitest";
import { countInner, SIGNED_WORD, similarity, trigramsOf, wantedTrigrams, wordSimilarity } from "./trigram.ts";

/** From pg_trgm in PostgreSQL 15.18: query, text, word_similarity, similarity. */
const REFERENCE: readonly (readonly [string, string, number, number])[] = [
  ["word", "two words", 0.8, 0.36363637],
  ["gardn", "Gardening Almanac", 0.6666667, 0.2],
  ["photo realisitc", "Ultra photo photorealistic realistic real photo", 0.5882353, 0.41379312],
  ["abc abc", "abcd abc abcabc", 1, 0.5],
  ["c++", "C#", 1, 1],
  ["resumé", "Resume tailoring", 0.71428573, 0.2631579],
  ["rivr cruse", "Slow River Cruise", 0.42857143, 0.3181818],
  ["a", "a b a", 1, 0.5],
  ["wedding speeh", "Wedding Speeches & Toasts for Beginners", 0.85714287, 0.3],
  ["xyz", "abc", 0, 0],
  ["ultra ultra", "Ultra-Ultra Wide ultra", 1, 0.54545456],
  ["日本語", "日本語テスト", 0.75, 0.375],
  ["node js", "Node.js Automation Script", 1, 0.30769232],
  ["cruise river", "River Cruise", 1, 1],
];

test.each(REFERENCE)("%j and %j have the similarity that pg_trgm computes", (query, text, near, same) => {
  const [a, b] = [wantedTrigrams(query), trigramsOf(text)];
  expect(wordSimilarity(a, b)).toBeCloseTo(near, 6);
  expect(similarity(a, b)).toBeCloseTo(same, 6);
});

test("a text without letters is similar to nothing, not even to itself", () => {
  const empty = wantedTrigrams("%_\\");
  expect(similarity(empty, empty)).toBe(0);
  expect(wordSimilarity(empty, trigramsOf("word"))).toBe(0);
});

test("with signs kept, c, c++, and c# are three words, and the similarity of texts without such signs is unchanged", () => {
  const near = (query: string, text: string) =>
    wordSimilarity(wantedTrigrams(query, SIGNED_WORD), trigramsOf(text, SIGNED_WORD));
  expect(near("c++", "modern c++ tutor")).toBe(1);
  expect(near("c++", "c++11 tutor")).toBe(1);
  for (const text of ["c# code reviewer", "c tutor", "choir leader"])
    expect(near("c++", text), text).toBeLessThan(0.35);
  expect(near("c#", "c++ code reviewer")).toBeLessThan(0.35);
  for (const [query, text, likeness] of REFERENCE.filter(([word]) => word !== "c++")) {
    expect(near(query, text)).toBeCloseTo(likeness, 6);
  }
});

test("the trigrams that distinguish a word from others with the same beginning or end are counted without spaces", () => {
  expect(["c", "c++", "cat", "query", "a bc def"].map((text) => countInner(trigramsOf(text)))).toEqual([0, 0, 1, 3, 1]);
});
