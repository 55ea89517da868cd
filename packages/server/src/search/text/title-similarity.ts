/** How alike a query and titles are by their letters: finds what is misspelt in ways no word list knows. */
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
/** So that of titles that hold the query the shorter one comes first. */
const SIMILARITY_SHARE = 0.8;

/** Titles cut before: the same prompts are candidates again and again. About half a kilobyte each. */
const cutTitles = new LRUCache<string, Trigrams>({ max: 8_000 });

export interface TitleSimilarity {
  /** Document -> likeness above 0, the greatest over all forms of the query. */
  readonly titles: ReadonlyMap<number, number>;
  /**
   * False when the letters of the query are too few to tell words apart: half of `gpt` is in `GPU`. Likeness then still
   * ranks what something else speaks for.
   */
  readonly isTelling: boolean;
}

/**
 * A logo is one by its title, however near a coffee shop is by meaning. Needs +.004 on 4,098 prompts, other languages
 * +.003, paraphrases -.002 at most, words and typing errors as before; 0.55 costs words .001 (2026-11-23).
 */
const HEAD_SHARE = 0.5;

/** Five letters of one word have so many trigrams without its beginning and end. */
const INNER_TRIGRAMS_MIN = 3;

/** @param head the thing itself of a need, if the query names more than that. */
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
  // No stretch can be more alike than the share of the query's trigrams that the whole title has.
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
/** Reading a title takes less time than the clock. */
const TITLES_PER_SLICE = 50;
/** A character is one or two of the units that a text is counted in. */
const CHARACTER_UNITS = 2;

/**
 * For queries without a word that means something (stop words, one letter, signs): documents whose titles hold the query
 * as it is written, from the beginning of a word on, to the end of one unless its last word is unfinished; of very many those of the shortest titles, of which the query is
 * the greatest part. `titles` are in the form of titleKey, and may change while they are read.
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

/** A stop word is whole, and so is a letter alone; behind other words a letter begins the next one. */
function isFinished(query: string): boolean {
  const tokens = tokenize(query);
  return tokens.length === 0 || tokens.at(-1)?.isLast === true;
}

/** Document -> length of its title. A title that is set again while they are read comes twice. */
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
