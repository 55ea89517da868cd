import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { tokenize } from "./analyser.ts";
import { completeWord, correctWord, editDistance } from "./speller.ts";
import { createTimeSlice } from "../../platform/time-slice.ts";
import { Vocabulary } from "./vocabulary.ts";

function vocabularyOf(words: Readonly<Record<string, readonly [count: number, titleCount: number]>>): Vocabulary {
  const vocabulary = new Vocabulary();
  for (const [word, [count, titleCount]] of Object.entries(words)) vocabulary.set(word, count, titleCount);
  return vocabulary;
}
const effort = (left = 1_000_000) => ({ slice: createTimeSlice(), left });
const corrected = async (word: string, vocabulary: Vocabulary, within = effort()) =>
  (await correctWord(word, vocabulary, within)).map((found) => found.word);

test("a misspelled word becomes similar words, with an extra, missing, changed, or swapped letter", async () => {
  const vocabulary = vocabularyOf({ recipe: [40, 20], resume: [30, 10], poetry: [9, 3] });
  for (const typo of ["recipee", "recpe", "rezipe", "reicpe"])
    expect((await corrected(typo, vocabulary))[0]).toBe("recipe");
});

test("two edits are allowed from seven letters on, and one below that", async () => {
  const vocabulary = vocabularyOf({ generator: [9, 9], poem: [9, 9] });
  expect(await corrected("ganarator", vocabulary)).toEqual(["generator"]);
  expect(await corrected("paim", vocabulary)).toEqual([]);
});

test("an unfinished word becomes the words that it starts", async () => {
  expect(await corrected("nutri", vocabularyOf({ nutrition: [5, 2], nurse: [90, 9] }))).toEqual(["nutrition"]);
});

test("the more frequent of two equal corrections ranks first, and the other keeps part of its weight", async () => {
  const found = await correctWord("storz", vocabularyOf({ story: [20, 5], store: [3, 1] }), effort());
  expect(found.map(({ word }) => word)).toEqual(["story", "store"]);
  expect(found[0]?.weight).toBe(1);
  expect(found[1]?.weight).toBeLessThan(1);
});

test("numbers, one or two letters, and very long words are left alone", async () => {
  const vocabulary = vocabularyOf({ "20245": [9, 9], abc: [9, 9], ["x".repeat(40)]: [9, 9] });
  for (const word of ["2024", "ab", "x".repeat(41)]) expect(await corrected(word, vocabulary)).toEqual([]);
});

test("a removed word is never suggested again", async () => {
  const vocabulary = vocabularyOf({ secretword: [1, 1] });
  vocabulary.set("secretword", 0, 0);
  expect(await corrected("secretwrd", vocabulary)).toEqual([]);
  expect(vocabulary.has("secretword")).toBe(false);
  expect(vocabulary.size).toBe(0);
});

test("results are cached until something is published", async () => {
  const vocabulary = vocabularyOf({ recipe: [40, 20] });
  const similarTo = vi.spyOn(vocabulary, "similarTo");
  for (let i = 0; i < 3; i += 1) expect(await corrected("recpe", vocabulary)).toEqual(["recipe"]);
  expect(similarTo).toHaveBeenCalledTimes(1);
  vocabulary.set("recpes", 900, 90);
  vocabulary.set("recipe", 0, 0);
  expect(await corrected("recpe", vocabulary)).toEqual(["recpes"]);
});

test("a query is corrected until its effort is spent, which depends on the size of the vocabulary and is always the same", async () => {
  const few = vocabularyOf({ recipe: [40, 20], poetry: [9, 3] });
  const many = vocabularyOf({
    ...Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`poe${String(i).padStart(3, "0")}`, [1, 0] as const])),
    recipe: [40, 20],
    poetry: [9, 3],
  });
  const both = async (vocabulary: Vocabulary) => {
    const within = effort(500);
    return [...(await corrected("recpe", vocabulary, within)), ...(await corrected("poetri", vocabulary, within))];
  };
  for (let i = 0; i < 2; i += 1) {
    expect(await both(few)).toEqual(["recipe", "poetry"]);
    expect(await both(many)).toEqual(["recipe"]);
  }
});

test("other work runs while one word is compared with many", async () => {
  const words = Array.from({ length: 200 }, (_, i) => `train${String.fromCodePoint(97 + (i % 26))}${i}`);
  const vocabulary = vocabularyOf(Object.fromEntries(words.map((word) => [word, [1, 1] as const])));
  let yields = 0;
  const counted = { isOver: () => true, yieldToEventLoop: async () => void (yields += 1) };
  await correctWord("traina77", vocabulary, { slice: counted, left: 1_000_000 });
  expect(yields).toBeGreaterThan(2);
});

test("the last word is completed from titles only, most frequent first, with at most eight words", () => {
  const many = Object.fromEntries(
    Array.from({ length: 12 }, (_, i) => [`train${"abcdefghijkl"[i]}`, [20, i + 1] as const]),
  );
  const [token] = tokenize("train");
  if (token === undefined) throw new Error("no token");
  const completions = completeWord(token, vocabularyOf({ ...many, trainee: [500, 0] })).map(({ word }) => word);
  expect(completions).toHaveLength(8);
  expect(completions[0]).toBe("trainl");
  expect(completions).not.toContain("trainee");
});

/** The textbook definition, without limits. */
function distanceByDefinition(a: string, b: string): number {
  const d = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_c, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  const at = (i: number, j: number) => d[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let cell = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cell = Math.min(cell, at(i - 2, j - 2) + 1);
      (d[i] as number[])[j] = cell;
    }
  }
  return at(a.length, b.length);
}

test("the distance that stops early agrees with the definition up to its limit", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 9 });
  fc.assert(
    fc.property(word, word, (a, b) => {
      const exact = distanceByDefinition(a, b);
      const found = editDistance(a, b, 2);
      expect(exact <= 2 ? found === exact : found > 2).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test("the letter filter never hides a word within the requested edits", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c", "é", "ж"), minLength: 3, maxLength: 9 });
  fc.assert(
    fc.property(word, word, (a, b) => {
      const found = [...vocabularyOf({ [b]: [1, 1] }).similarTo(a, 2)].map((entry) => entry.word);
      expect(found.includes(b) || distanceByDefinition(a, b) > 2).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
