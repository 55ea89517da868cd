/**
 * Corrects query words that no published prompt has: a misspelled word to similar words, an unfinished one to its
 * possible completions. It knows only words of public fields. The weights were measured 2026-11 on the development
 * queries.
 */
import type { Token } from "./analyser.ts";
import { LRUCache } from "lru-cache";
import type { TimeSlice } from "../../platform/time-slice.ts";
import type { VocabularyWord, Vocabulary } from "./vocabulary.ts";

export interface WeightedWord {
  readonly word: string;
  /** 0 to 1, relative to a correctly written word. */
  readonly weight: number;
}

/**
 * Two edits from this length on, one below it: two edits change too much of a shorter word (`instag` is not `instead`).
 */
const TWO_EDITS_FROM = 7;
/** Shorter words must have the same first letter. */
const FREE_START_FROM = 6;
const LETTERS = { min: 3, max: 40 };
const SAME_START = 0.04;
const SAME_START_MAX = 3;
const SIMILAR_MAX = 3;
const SIMILAR_GAP = 0.35;
const COMPLETIONS_MAX = 8;
const COMPLETION_WEIGHT = 0.6;

/** The effort that correcting the words of one query may take. */
export interface Effort {
  readonly slice: TimeSlice;
  /** Letter comparisons left. The word during which they run out is still finished. */
  left: number;
}

/** A vocabulary word that only has a fitting length costs a tenth of one that is compared letter by letter. */
const COMPARED_COST = 10;
const COMPARED_PER_SLICE = 20;

/** Finds what a misspelled word may mean, best first; empty when no word is similar. */
export async function correctWord(word: string, vocabulary: Vocabulary, effort: Effort): Promise<WeightedWord[]> {
  if (word.length < LETTERS.min || word.length > LETTERS.max || /^\p{Nd}+$/u.test(word)) return [];
  return recall(`any ${word}`, vocabulary, effort, async () => {
    const edits = word.length < TWO_EDITS_FROM ? 1 : 2;
    const freeStart = word.length >= FREE_START_FROM;
    const scores = await findMisspellings(word, vocabulary, { edits, freeStart, effort });
    for (const entry of vocabulary.completionsOf(word)) keepBest(scores, entry.word, scoreCompletion(word, entry));
    return rankCorrections(scores);
  });
}

/**
 * Finds words one edit away from a real word. They are only a second reading, since the real word is probably meant.
 */
export async function findNearlySame(word: string, vocabulary: Vocabulary, effort: Effort): Promise<WeightedWord[]> {
  if (word.length < TWO_EDITS_FROM || word.length > LETTERS.max) return [];
  return recall(`one edit ${word}`, vocabulary, effort, async () =>
    rankCorrections(await findMisspellings(word, vocabulary, { edits: 1, freeStart: false, effort })),
  );
}

const REMEMBERED_MAX = 1_000;

/** The result for this state of the vocabulary, and its cost. */
interface Found {
  readonly corrections: WeightedWord[];
  readonly cost: number;
}

const memories = new WeakMap<Vocabulary, { readonly version: number; readonly found: LRUCache<string, Found> }>();

function memoryOf(vocabulary: Vocabulary): LRUCache<string, Found> {
  const known = memories.get(vocabulary);
  if (known?.version === vocabulary.version) return known.found;
  const found = new LRUCache<string, Found>({ max: REMEMBERED_MAX });
  memories.set(vocabulary, { version: vocabulary.version, found });
  return found;
}

/** A cached result costs the same as before, so that the same query is always read in the same way. */
async function recall(
  key: string,
  vocabulary: Vocabulary,
  effort: Effort,
  find: () => Promise<WeightedWord[]>,
): Promise<WeightedWord[]> {
  if (effort.left <= 0) return [];
  const memory = memoryOf(vocabulary);
  const known = memory.get(key);
  if (known !== undefined) {
    effort.left -= known.cost;
    return known.corrections;
  }
  const before = effort.left;
  const corrections = await find();
  // Words may have been published while other work ran.
  if (memoryOf(vocabulary) === memory) memory.set(key, { corrections, cost: before - effort.left });
  return corrections;
}

type Scores = Map<string, number>;

async function findMisspellings(
  word: string,
  vocabulary: Vocabulary,
  { edits, freeStart, effort }: { edits: number; freeStart: boolean; effort: Effort },
): Promise<Scores> {
  const scores: Scores = new Map();
  let compared = 0;
  for (const entry of vocabulary.similarTo(word, edits)) {
    if (!freeStart && entry.word[0] !== word[0]) continue;
    const distance = editDistance(word, entry.word, edits);
    if (distance <= edits) keepBest(scores, entry.word, scoreMisspelling(word, entry, distance));
    compared += 1;
    if (compared % COMPARED_PER_SLICE === 0 && effort.slice.isOver()) await effort.slice.yieldToEventLoop();
  }
  effort.left -= vocabulary.countSimilarLengths(word, edits) + COMPARED_COST * compared;
  return scores;
}

function keepBest(scores: Scores, candidate: string, score: number): void {
  if (score > (scores.get(candidate) ?? Number.NEGATIVE_INFINITY)) scores.set(candidate, score);
}

function rankCorrections(scores: Scores): WeightedWord[] {
  const ranked = [...scores].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, SIMILAR_MAX);
  const best = ranked[0]?.[1] ?? 0;
  return ranked
    .filter(([, score]) => best - score <= SIMILAR_GAP)
    .map(([candidate, score]) => ({ word: candidate, weight: Math.max(0.4, 1 - 1.5 * (best - score)) }));
}

function scoreCompletion(word: string, entry: VocabularyWord): number {
  const longer = entry.word.length - word.length;
  return 1 + 0.15 * Math.log(1 + entry.count) - 0.02 * longer + (entry.titleCount > 0 ? 0.2 : 0);
}

function scoreMisspelling(word: string, entry: VocabularyWord, distance: number): number {
  const sameStart = SAME_START * countSameStart(word, entry.word);
  const inTitle = entry.titleCount > 0 ? 0.2 : 0;
  return 1.25 - 0.45 * distance * Math.sqrt(6 / word.length) + 0.1 * Math.log(1 + entry.count) + sameStart + inTitle;
}

/** Counts the common first letters, at most three: people rarely misspell the beginning of a word. */
function countSameStart(a: string, b: string): number {
  let count = 0;
  while (count < SAME_START_MAX && a[count] !== undefined && a[count] === b[count]) count += 1;
  return count;
}

/** Finds the title words that the last, possibly unfinished word of a query may become, most frequent first. */
export function completeWord(token: Token, vocabulary: Vocabulary): WeightedWord[] {
  if (token.word.length > LETTERS.max) return [];
  return [...vocabulary.completionsOf(token.word)]
    .filter((entry) => entry.titleCount > 0)
    .sort((a, b) => b.titleCount - a.titleCount || (a.word < b.word ? -1 : 1))
    .slice(0, COMPLETIONS_MAX)
    .map(({ word }) => ({ word, weight: COMPLETION_WEIGHT }));
}

/** Three rows of the table, used in rotation: a query compares thousands of words. */
const ROWS = [0, 1, 2].map(() => new Uint8Array(LETTERS.max + 4));

/**
 * Counts the edits between two words of at most 40 and 42 letters: insert, delete, replace, or swap two adjacent
 * letters, with no letter edited twice. Only cells within `max` of the diagonal can matter.
 * @returns a number above `max` as soon as the distance is certain to exceed it.
 */
export function editDistance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  const beyond = max + 1;
  let [beforeLast, last, row] = ROWS as [Uint8Array, Uint8Array, Uint8Array];
  let leastBefore = 0;
  for (let j = 0; j <= Math.min(b.length, beyond); j += 1) last[j] = j;
  for (let i = 1; i <= a.length; i += 1) {
    const [from, to] = [Math.max(1, i - max), Math.min(b.length, i + max)];
    row[from - 1] = from === 1 ? Math.min(i, beyond) : beyond;
    let least = row[from - 1] as number;
    for (let j = from; j <= to; j += 1) {
      const isSame = a.charCodeAt(i - 1) === b.charCodeAt(j - 1);
      let cell = Math.min(
        (last[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (last[j - 1] as number) + (isSame ? 0 : 1),
      );
      const isExchange =
        i > 1 && j > 1 && a.charCodeAt(i - 1) === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1);
      if (isExchange) cell = Math.min(cell, (beforeLast[j - 2] as number) + 1);
      cell = Math.min(cell, beyond);
      row[j] = cell;
      least = Math.min(least, cell);
    }
    if (to < b.length) row[to + 1] = beyond;
    if (least > max && leastBefore >= max) return beyond; // a swap may still refer to the previous row
    leastBefore = least;
    [beforeLast, last, row] = [last, row, beforeLast];
  }
  return last[b.length] as number;
}
