import { beforeAll, expect, test } from "vitest";
import { contentTokens, stemEnglish } from "./analyser.ts";
import { loadExpansions, type ExpansionTable } from "./expansion.ts";
import { createTimeSlice } from "../../platform/time-slice.ts";
import { Vocabulary } from "./vocabulary.ts";
import { readWord } from "./word-readings.ts";

let table: ExpansionTable;
beforeAll(async () => {
  table = await loadExpansions();
});

/** Reads a one-word query in a catalogue with these words, each with its number of titles. */
async function read(query: string, words: Readonly<Record<string, number>>) {
  const vocabulary = new Vocabulary();
  for (const [word, titles] of Object.entries(words)) vocabulary.set(word, Math.max(1, titles), titles);
  const counts = new Map(Object.entries(words).map(([word, titles]) => [stemEnglish(word), Math.max(1, titles)]));
  const [token] = contentTokens(query);
  if (token === undefined) throw new Error("no token");
  const rules = {
    counts: { documentCount: 100, vocabulary, countOf: (term: string) => counts.get(term) ?? 0, pairsWith: () => [] },
    table,
  };
  const effort = { slice: createTimeSlice(), left: 1_000_000 };
  const reading = await readWord(token, { ...rules, effort, pairsMax: 50 });
  return { ...reading, others: reading.others.map(({ word }) => word) };
}

test("a word in the catalogue is read as written", async () => {
  expect(await read("poetry ", { poetry: 4, pottery: 9 })).toMatchObject({ word: "poetry", certainty: 1, others: [] });
});

test("the other English spelling is as certain as the word itself", async () => {
  expect(await read("optimiser.", { optimizer: 3 })).toMatchObject({ word: "optimizer", certainty: 1 });
  expect(await read("colouring!", { coloring: 3, colouring: 1 })).toMatchObject({
    word: "colouring",
    others: ["coloring"],
  });
});

test("a guess is less certain the more words it may be", async () => {
  const one = await read("storz!", { story: 9 });
  const two = await read("storz!", { story: 9, store: 9 });
  expect(one.word).toBe("story");
  expect(one.certainty).toBeLessThan(1);
  expect(two.certainty).toBeLessThan(one.certainty);
});

test("a real word that no prompt has stays, and a similar word counts as a second reading", async () => {
  expect(await read("calender!", { calendar: 3 })).toMatchObject({
    word: "calender",
    certainty: 1,
    others: ["calendar"],
  });
});

test("a misspelled word in one document does not hide the word that many have", async () => {
  expect((await read("accoutant!", { accoutant: 0, accountant: 20 })).others).toEqual(["accountant"]);
  expect((await read("accoutant!", { accoutant: 2, accountant: 20 })).others).toEqual([]);
});

test("the last word may be unfinished, unless it is a whole word about as common as its completions", async () => {
  expect(await read("dash", { dashboard: 9 })).toMatchObject({ others: ["dashboard"] });
  expect(await read("graph", { graph: 5, graphic: 9 })).toMatchObject({ certainty: 1, others: [] });
  expect((await read("dash ,", { dashboard: 9 })).others).toEqual([]);
});

test("a word in double quotes is only itself", async () => {
  expect(await read('"recpe"', { recipe: 9 })).toMatchObject({ word: "recpe", certainty: 1, others: [] });
});

test("a character of a script without spaces stands for its most common pairs, always the same", async () => {
  const pairs = Array.from({ length: 4_000 }, (_, i) => `的${String.fromCodePoint(0x4e00 + i)}`);
  const countOf = (term: string) => pairs.indexOf(term) % 100;
  const [token] = contentTokens("的");
  if (token === undefined) throw new Error("no token");
  const counts = { documentCount: 100, vocabulary: new Vocabulary(), countOf, pairsWith: () => pairs };
  const effort = { slice: createTimeSlice(), left: 1_000_000 };
  const { others } = await readWord(token, { counts, table, effort, pairsMax: 50 });
  const byUse = pairs.toSorted((a, b) => countOf(b) - countOf(a) || (a < b ? -1 : 1));
  expect(others.map(({ word }) => word)).toEqual(byUse.slice(0, 50));
});
