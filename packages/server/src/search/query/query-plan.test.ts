import { beforeAll, expect, test } from "vitest";
import { loadExpansions, type ExpansionTable } from "../text/expansion.ts";
import { planQuery } from "./query-plan.ts";
import { stemEnglish } from "../text/analyser.ts";
import { loadTranslator, type Translator } from "../text/translation.ts";
import { createTimeSlice } from "../../platform/time-slice.ts";
import { Vocabulary } from "../text/vocabulary.ts";

let table: ExpansionTable;
let translator: Translator;
beforeAll(async () => {
  [table, translator] = await Promise.all([loadExpansions(), loadTranslator()]);
});

/** The plan of a query in a catalogue of a thousand prompts, ten of which have each of these words. */
function plan(query: string, words: readonly string[], pairs: readonly string[] = []) {
  const vocabulary = new Vocabulary();
  for (const word of words) vocabulary.set(word, 10, 10);
  const terms = new Set([...words.map(stemEnglish), ...pairs]);
  const countOf = (term: string) => (terms.has(term) ? 10 : 0);
  const pairsWith = (character: string) => pairs.filter((pair) => pair.includes(character));
  const counts = { documentCount: 1_000, vocabulary, countOf, pairsWith };
  return planQuery(query, { counts, table, translator, slice: createTimeSlice() });
}

test("a repeated word is searched once, and may still be unfinished", async () => {
  const once = await plan("design image", ["design", "image"]);
  expect(await plan("design image ".repeat(15).trim(), ["design", "image"])).toEqual(once);
  const again = await plan("dash board dash", ["dash", "board", "dashboard"]);
  expect(again.tokens.map(({ word, isLast }) => [word, isLast])).toEqual([
    ["dash", true],
    ["board", false],
  ]);
});

test("a word is used as written only if every occurrence is quoted", async () => {
  const quotedOf = async (query: string) => (await plan(query, ["recipe"])).tokens.map(({ isQuoted }) => isQuoted);
  expect(await quotedOf('"recipe" "recipe"')).toEqual([true]);
  expect(await quotedOf('"recipe" recipe')).toEqual([false]);
});

test("forty characters with thousands of pairs, or forty words with many relations, stay one small statement", async () => {
  const characters = Array.from({ length: 40 }, (_, i) => String.fromCodePoint(0x4e00 + i));
  const pairs = characters.flatMap((a) => characters.map((b) => `${a}${b}`));
  expect((await plan(characters.join(" "), [], pairs)).lexical.length).toBeLessThanOrEqual(400);
  const words = "run set make take play turn light line point head hand face round break cut fall hold pass".split(" ");
  expect((await plan(words.join(" "), words)).lexical.length).toBeLessThanOrEqual(400);
});
