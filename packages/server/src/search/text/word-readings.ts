/** What one query word may mean in this catalogue: itself, another spelling, a correction, or a completion. */
import { unspacedCharacters, stemEnglish, type Token } from "./analyser.ts";
import { spellOut, otherSpellings } from "./spellings.ts";
import type { ExpansionTable } from "./expansion.ts";
import { completeWord, correctWord, findNearlySame, type WeightedWord, type Effort } from "./speller.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** What reading a query needs to know about the catalogue. */
export interface CatalogueCounts {
  readonly documentCount: number;
  readonly vocabulary: Vocabulary;
  /** Number of documents that have the term. */
  readonly countOf: (term: string) => number;
  /** Two-character terms that contain this character, in scripts without spaces. */
  readonly pairsWith: (character: string) => Iterable<string>;
}

export interface Reading {
  /** The most probable word. */
  readonly word: string;
  readonly term: string;
  /** How certain the reading is, 0 to 1: the meaning of an uncertain word counts less. */
  readonly certainty: number;
  readonly isUnfinished: boolean;
  /** Alternatives to search in its place, with weights from 0 to 1. */
  readonly others: readonly WeightedWord[];
}

export interface ReadingRules {
  readonly counts: CatalogueCounts;
  readonly table: ExpansionTable;
  /** Corrections are the expensive part, so pasted text gets only a few. */
  readonly effort: Effort;
  /** A single character of a script without spaces stands for at most this many pairs that contain it. */
  readonly pairsMax: number;
}

/** Low, since the meaning of a wrong guess finds unrelated prompts (measured 2026-11, both query sets). */
const CERTAINTY = { corrected: 0.4, unfinished: 0.15 };
/** If the word is in the catalogue, its other spelling counts a little less. */
const OTHER_SPELLING_WEIGHT = 0.9;
/** For a real word with one letter changed. */
const SECOND_READING_WEIGHT = 0.4;
/** A word in so few documents, and in none of their titles, may itself be a typo. */
const RARE_MAX = 2;
const FAR_MORE_USUAL = 8;
const SHORT_LAST_WORD = 3;

export async function readWord(token: Token, rules: ReadingRules): Promise<Reading> {
  const { counts } = rules;
  if (unspacedCharacters(token.word).length === 1) return readCharacter(token, rules);
  if (token.isQuoted) return readAs(token.word, []);
  const isKnown = counts.countOf(token.term) > 0 || counts.vocabulary.has(token.word);
  const spellings = spelledOtherwise(token.word, counts);
  const completions = completionsOf(token, rules);
  if (isKnown) return readKnown(token, spellings, completions, rules);
  const [spelling] = spellings;
  if (spelling !== undefined) return readAs(spelling, [{ word: spelling, weight: 1 }, ...completions]);
  return readUnknown(token, completions, rules);
}

/**
 * Documents have the character in pairs with its neighbors, so the most common of these pairs are searched in its
 * place.
 */
function readCharacter({ word }: Token, { counts, pairsMax }: ReadingRules): Reading {
  const pairs = mostUsual(counts.pairsWith(word), pairsMax, counts.countOf);
  return readAs(
    word,
    pairs.map((pair) => ({ word: pair, weight: 1 })),
  );
}

/** Selects the most common terms without sorting the thousands that a common character has. */
function mostUsual(terms: Iterable<string>, max: number, countOf: (term: string) => number): string[] {
  let best: { term: string; count: number }[] = [];
  let countMin = 1;
  const cut = () => {
    best = best.sort((a, b) => b.count - a.count || (a.term < b.term ? -1 : 1)).slice(0, max);
    if (best.length === max) countMin = best.at(-1)?.count ?? countMin;
  };
  for (const term of terms) {
    const count = countOf(term);
    if (count >= countMin) best.push({ term, count });
    if (best.length >= 4 * max) cut();
  }
  cut();
  return best.map(({ term }) => term);
}

async function readKnown(
  { word, term }: Token,
  spellings: readonly string[],
  completions: readonly WeightedWord[],
  { counts: { vocabulary, countOf }, effort }: ReadingRules,
): Promise<Reading> {
  const others = spellings.map((other) => ({ word: other, weight: OTHER_SPELLING_WEIGHT }));
  if (completions.length > 0) {
    return { ...readAs(word, [...others, ...completions]), certainty: CERTAINTY.unfinished, isUnfinished: true };
  }
  const own = vocabulary.find(word) ?? { count: 0, titleCount: 0 };
  const isRare = own.titleCount === 0 && countOf(term) <= RARE_MAX;
  const meant = isRare ? await findNearlySame(word, vocabulary, effort) : [];
  const usual = meant.filter((other) => (vocabulary.find(other.word)?.count ?? 0) >= FAR_MORE_USUAL * own.count);
  return readAs(word, [...others, ...usual]);
}

async function readUnknown(
  token: Token,
  completions: readonly WeightedWord[],
  { counts, table, effort }: ReadingRules,
): Promise<Reading> {
  if (table.hasWord(token.word)) {
    const others = await findNearlySame(token.word, counts.vocabulary, effort);
    const second = others.map(({ word, weight }) => ({ word, weight: weight * SECOND_READING_WEIGHT }));
    return readAs(token.word, [...second, ...completions]);
  }
  const corrections = await correctWord(token.word, counts.vocabulary, effort);
  const [best] = corrections;
  if (best === undefined) return readAs(token.word, completions);
  const isUnfinished = best.word.startsWith(token.word);
  const rivals = corrections.reduce((sum, { weight }) => sum + weight, 0);
  const certainty = isUnfinished ? CERTAINTY.unfinished : CERTAINTY.corrected / rivals;
  return { ...readAs(best.word, [...corrections, ...completions]), certainty, isUnfinished };
}

function readAs(word: string, others: readonly WeightedWord[]): Reading {
  return { word, term: stemEnglish(word), certainty: 1, isUnfinished: false, others };
}

/** Finds other spellings that documents have. */
function spelledOtherwise(word: string, { vocabulary, countOf }: CatalogueCounts): string[] {
  const spelled = [...otherSpellings(word), spellOut(word, vocabulary) ?? word].filter((other) => other !== word);
  return spelled.filter((other) => countOf(stemEnglish(other)) > 0);
}

/** The last word may be unfinished, since search runs while people type. */
function completionsOf(token: Token, { counts, table }: ReadingRules): WeightedWord[] {
  if (!token.isLast) return [];
  const completions = completeWord(token, counts.vocabulary);
  if (token.word.length <= SHORT_LAST_WORD || !table.hasWord(token.word)) return completions;
  const titlesOf = (word: string) => counts.vocabulary.find(word)?.titleCount ?? 0;
  const isWholeWord = titlesOf(token.word) * FAR_MORE_USUAL >= titlesOf(completions[0]?.word ?? "");
  return isWholeWord ? [] : completions;
}
