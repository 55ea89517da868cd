/**
 * Corrects words of the query that nobody published: a misspelt word to what is spelt alike, an unfinished one to what
 * it may become. It knows only words of public fields. Weights: measured 2026-11 on the development queries.
 */
import type { Token } from "./analyser.ts";
import type { VocabularyWord, Vocabulary } from "./vocabulary.ts";

export interface Correction {
  readonly word: string;
  /** 0 to 1, relative to a word that was written right. */
  readonly weight: number;
}

/** Two edits from this length on, one below. */
const TWO_EDITS_FROM = 7;
/** Shorter words must agree in their first letter. */
const FREE_START_FROM = 6;
/** Shorter words are never corrected by two edits. */
const LAST_RESORT_FROM = 5;
const LETTERS = { min: 3, max: 40 };
const SAME_START = 0.04;
const SAME_START_MAX = 3;
const SIMILAR_MAX = 3;
const SIMILAR_GAP = 0.35;
const COMPLETIONS_MAX = 8;
const COMPLETION_WEIGHT = 0.6;

/** What the word may have been meant to be, best first; empty when nothing is spelt alike. */
export function correctWord(word: string, vocabulary: Vocabulary): Correction[] {
  if (word.length < LETTERS.min || word.length > LETTERS.max || /^\p{Nd}+$/u.test(word)) return [];
  const edits = word.length < TWO_EDITS_FROM ? 1 : 2;
  const scores = findMisspellings(word, vocabulary, { edits, freeStart: word.length >= FREE_START_FROM });
  for (const entry of vocabulary.completionsOf(word)) keepBest(scores, entry.word, scoreCompletion(word, entry));
  // Two edits leave little of a short word: only where nothing nearer is found, and from the same first letter.
  const isLost = scores.size === 0 && edits === 1 && word.length >= LAST_RESORT_FROM;
  return rankCorrections(isLost ? findMisspellings(word, vocabulary, { edits: 2, freeStart: false }) : scores);
}

/** Words one edit away from a real word, which is probably what was meant: these are only a second reading of it. */
export function findNearlySame(word: string, vocabulary: Vocabulary): Correction[] {
  if (word.length < TWO_EDITS_FROM || word.length > LETTERS.max) return [];
  return rankCorrections(findMisspellings(word, vocabulary, { edits: 1, freeStart: false }));
}

type Scores = Map<string, number>;

function findMisspellings(
  word: string,
  vocabulary: Vocabulary,
  { edits, freeStart }: { edits: number; freeStart: boolean },
): Scores {
  const scores: Scores = new Map();
  for (const entry of vocabulary.similarTo(word, edits)) {
    if (!freeStart && entry.word[0] !== word[0]) continue;
    const distance = editDistance(word, entry.word, edits);
    if (distance <= edits) keepBest(scores, entry.word, scoreMisspelling(word, entry, distance));
  }
  return scores;
}

function keepBest(scores: Scores, candidate: string, score: number): void {
  if (score > (scores.get(candidate) ?? Number.NEGATIVE_INFINITY)) scores.set(candidate, score);
}

function rankCorrections(scores: Scores): Correction[] {
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

/** Letters that both begin with, at most three: the beginning of a word is seldom where it is misspelt. */
function countSameStart(a: string, b: string): number {
  let count = 0;
  while (count < SAME_START_MAX && a[count] !== undefined && a[count] === b[count]) count += 1;
  return count;
}

/** The title words that the last, perhaps unfinished word of a query begins, most frequent first. */
export function completeWord(token: Token, vocabulary: Vocabulary): Correction[] {
  if (token.word.length > LETTERS.max) return [];
  return [...vocabulary.completionsOf(token.word)]
    .filter((entry) => entry.titleCount > 0)
    .sort((a, b) => b.titleCount - a.titleCount || (a.word < b.word ? -1 : 1))
    .slice(0, COMPLETIONS_MAX)
    .map(({ word }) => ({ word, weight: COMPLETION_WEIGHT }));
}

/**
 * Edits between two words: insert, delete, replace, exchange two neighbours, no place edited twice.
 * @returns a number above `max` as soon as it is sure that the distance is.
 */
export function editDistance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let cell = Math.min((last[j] as number) + 1, (row[j - 1] as number) + 1, (last[j - 1] as number) + cost);
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isExchange) cell = Math.min(cell, (beforeLast[j - 2] as number) + 1);
      row.push(cell);
      least = Math.min(least, cell);
    }
    if (least > max + 1) return max + 1; // an exchange may still take one back
    beforeLast = last;
    last = row;
  }
  return last[b.length] as number;
}
