/** Compares a query with titles letter by letter, to find misspellings that no word list knows. */
import { foldText, titleKey, tokenize } from "./analyser.ts";
import { LRUCache } from "lru-cache";
import {
  countCommon,
  countInner,
  SIGNED_WORD,
  similarity,
  trigramsOf,
  wantedTrigrams,
  wordSimilarity,
  type Trigrams,
  type WantedTrigrams,
} from "./trigram.ts";
import type { TimeSlice } from "../../platform/time-slice.ts";

const WORD_SIMILARITY_MIN = 0.35;
/** Ranks shorter titles first among those that contain the query. */
const SIMILARITY_SHARE = 0.8;

/** Caches cut titles, since the same prompts are candidates again and again. About half a kilobyte each. */
const cutTitles = new LRUCache<string, Trigrams>({ max: 8_000 });

export interface TitleSimilarity {
  /** Document -> likeness above 0, the highest over all forms of the query. */
  readonly titles: ReadonlyMap<number, number>;
  /**
   * False when the query has too few letters to distinguish words: half of `gpt` is in `GPU`. Likeness then still ranks
   * documents with other evidence.
   */
  readonly isTelling: boolean;
}

/**
 * A title shows that a prompt is for a logo, however close a coffee shop is in meaning. Needs +.004 on 4,098 prompts,
 * other languages +.003, paraphrases at most -.002, words and typing errors unchanged; 0.55 costs words .001
 * (2026-11-23).
 */
const HEAD_SHARE = 0.5;

/** The number of trigrams in a five-letter word, without its beginning and end. */
const INNER_TRIGRAMS_MIN = 3;

/** @param head the words for the needed thing itself, if the query has other words too. */
export async function scoreTitles(
  { forms, head }: { readonly forms: readonly string[]; readonly head?: string | null },
  documents: Iterable<{ readonly doc: number; readonly title: string }>,
  slice: TimeSlice,
): Promise<TitleSimilarity> {
  const wanted = [...new Set(forms.map(foldText))].map((form) => wantedTrigrams(form, SIGNED_WORD));
  const wantedHead = typeof head === "string" ? wantedTrigrams(foldText(head), SIGNED_WORD) : null;
  const titles = new Map<number, number>();
  for (const { doc, title } of documents) {
    const trigrams = cutTitle(title);
    const byHead = wantedHead === null ? 0 : HEAD_SHARE * likenessOf(wantedHead, trigrams);
    const greatest = Math.max(byHead, ...wanted.map((form) => likenessOf(form, trigrams)));
    if (greatest > 0) titles.set(doc, greatest);
    if (slice.isOver()) await slice.yieldToEventLoop();
  }
  return { titles, isTelling: wanted.some((form) => countInner(form) >= INNER_TRIGRAMS_MIN) };
}

function likenessOf(wanted: WantedTrigrams, title: Trigrams): number {
  // No part can be more similar than the share of the query's trigrams in the whole title.
  if (countCommon(wanted, title) <= WORD_SIMILARITY_MIN * wanted.distinct.length) return 0;
  const inTitle = wordSimilarity(wanted, title);
  return inTitle > WORD_SIMILARITY_MIN ? inTitle + SIMILARITY_SHARE * similarity(wanted, title) : 0;
}

function cutTitle(title: string): Trigrams {
  const known = cutTitles.get(title);
  if (known !== undefined) return known;
  const trigrams = trigramsOf(foldText(title), SIGNED_WORD);
  cutTitles.set(title, trigrams);
  return trigrams;
}

const LITERAL_MAX = 200;
/** Reading a title takes less time than reading the clock. */
const TITLES_PER_SLICE = 50;
/** A character has one or two UTF-16 units. */
const CHARACTER_UNITS = 2;

/**
 * For queries without a meaningful word (stop words, one letter, signs): finds documents whose titles contain the query
 * as written, from the start of a word to the end of a word, or within the last word if that is unfinished. If there
 * are very many, returns those with the shortest titles, of which the query is the largest part. `titles` are in the
 * form of titleKey, and may change while they are read.
 */
export async function findLiterally(
  query: string,
  titles: Iterable<readonly [title: string, docs: ReadonlySet<number>]>,
  slice: TimeSlice,
): Promise<number[]> {
  const wanted = titleKey(query);
  if (wanted === "") return [];
  const startsWithWord = /^[\p{L}\p{N}]/u.test(wanted);
  const endsWithWord = startsWithWord && /[\p{L}\p{N}]$/u.test(wanted) && isFinished(wanted);
  const lengths: TitleLengths = new Map();
  let read = 0;
  for (const [title, docs] of titles) {
    if (holds(title, wanted, { startsWithWord, endsWithWord })) addShortest(lengths, docs, title.length);
    read += 1;
    if (read % TITLES_PER_SLICE === 0 && slice.isOver()) await slice.yieldToEventLoop();
  }
  keepShortest(lengths);
  return [...lengths.keys()];
}

/** A stop word is complete, and so is a single letter; after other words, a letter starts the next word. */
function isFinished(query: string): boolean {
  const tokens = tokenize(query);
  return tokens.length === 0 || tokens.at(-1)?.isLast === true;
}

/** Document -> length of its title. A title that is set again while titles are read appears twice. */
type TitleLengths = Map<number, number>;

function addShortest(lengths: TitleLengths, docs: ReadonlySet<number>, length: number): void {
  let added = 0;
  for (const doc of docs) {
    if (added >= LITERAL_MAX) break;
    lengths.set(doc, length);
    added += 1;
  }
  if (lengths.size > 2 * LITERAL_MAX) keepShortest(lengths);
}

function keepShortest(lengths: TitleLengths): void {
  const byLength = [...lengths].sort(([docA, a], [docB, b]) => a - b || docA - docB);
  for (const [doc] of byLength.slice(LITERAL_MAX)) lengths.delete(doc);
}

function holds(title: string, wanted: string, rule: { startsWithWord: boolean; endsWithWord: boolean }): boolean {
  for (let at = title.indexOf(wanted); at >= 0; at = title.indexOf(wanted, at + 1)) {
    const before = title.slice(Math.max(0, at - CHARACTER_UNITS), at);
    const after = title.slice(at + wanted.length, at + wanted.length + CHARACTER_UNITS);
    const beginsWord = !rule.startsWithWord || !/[\p{L}\p{N}]$/u.test(before);
    const endsWord = !rule.endsWithWord || !/^[\p{L}\p{N}]/u.test(after);
    if (beginsWord && endsWord) return true;
  }
  return false;
}
