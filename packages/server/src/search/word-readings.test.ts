import { beforeAll, expect, test } from "vitest";
import { contentTokens } from "./analyser.ts";
import type { ExpansionTable } from "./expansion.ts";
import { loadExpansions } from "./search-data.ts";
import { stemEnglish } from "./stemmer.ts";
import { Vocabulary } from "./vocabulary.ts";
import { readWord } from "./word-readings.ts";

let table: ExpansionTable;
beforeAll(async () => {
  table = await loadExpansions();
});

/** How a one-word query is read in a catalogue of these words, each with its number of titles. */
function read(query: string, words: Readonly<Record<string, number>>) {
  const vocabulary = new Vocabulary();
  for (const [word, titles] of Object.entries(words)) vocabulary.set(word, Math.max(1, titles), titles);
  const counts = new Map(Object.entries(words).map(([word, titles]) => [stemEnglish(word), Math.max(1, titles)]));
  const [token] = contentTokens(query);
  if (token === undefined) throw new Error("no token");
  const rules = {
    counts: { documentCount: 100, vocabulary, countOf: (term: string) => counts.get(term) ?? 0, pairsWith: () => [] },
    table,
  };
  const reading = readWord(token, { ...rules, mayCorrect: true });
  return { ...reading, others: reading.others.map(({ word }) => word) };
}

test("a word of the catalogue is meant as it is written", () => {
  expect(read("poetry ", { poetry: 4, pottery: 9 })).toMatchObject({ word: "poetry", certainty: 1, others: [] });
});

test("the other spelling of English is as sure as the word itself", () => {
  expect(read("optimiser.", { optimizer: 3 })).toMatchObject({ word: "optimizer", certainty: 1 });
  expect(read("colouring!", { coloring: 3, colouring: 1 })).toMatchObject({ word: "colouring", others: ["coloring"] });
});

test("a guess is less sure the more words it may be", () => {
  const one = read("storz!", { story: 9 });
  const two = read("storz!", { story: 9, store: 9 });
  expect(one.word).toBe("story");
  expect(one.certainty).toBeLessThan(1);
  expect(two.certainty).toBeLessThan(one.certainty);
});

test("a real word that nobody published stays, and what it nearly is counts as a second reading", () => {
  expect(read("calender!", { calendar: 3 })).toMatchObject({ word: "calender", certainty: 1, others: ["calendar"] });
});

test("a word that one document misspelt does not hide the one that many have", () => {
  expect(read("accoutant!", { accoutant: 0, accountant: 20 }).others).toEqual(["accountant"]);
  expect(read("accoutant!", { accoutant: 2, accountant: 20 }).others).toEqual([]);
});

test("the last word may be unfinished, unless it is a whole word about as usual as what it begins", () => {
  expect(read("dash", { dashboard: 9 })).toMatchObject({ others: ["dashboard"] });
  expect(read("graph", { graph: 5, graphic: 9 })).toMatchObject({ certainty: 1, others: [] });
  expect(read("dash ,", { dashboard: 9 }).others).toEqual([]);
});

test("a word in double quotes is nothing but itself", () => {
  expect(read('"recpe"', { recipe: 9 })).toMatchObject({ word: "recpe", certainty: 1, others: [] });
});
