/** What one word of a query may mean in this catalogue: itself, another spelling, a correction, what it may become. */
import { unspacedCharacters, stemEnglish, type Token } from "./analyser.ts";
import { spellOut, otherSpellings } from "./spellings.ts";
import type { ExpansionTable } from "./expansion.ts";
import { completeWord, correctWord, findNearlySame, type WeightedWord, type Effort } from "./speller.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** What reading a query needs to know of the catalogue. */
export interface CatalogueCounts {
  readonly documentCount: number;
  readonly vocabulary: Vocabulary;
  /** Documents that have the term. */
  readonly countOf: (term: string) => number;
  /** Terms of two characters that have this one, in scripts without spaces. */
  readonly pairsWith: (character: string) => Iterable<string>;
}

export interface Reading {
  /** The word that is most probably meant. */
  readonly word: string;
  readonly term: string;
  /** How sure that is, 0 to 1: meaning is asked for less of a word that may be another. */
  readonly certainty: number;
  readonly isUnfinished: boolean;
  /** What else is looked for in its place, weight 0 to 1. */
  readonly others: readonly WeightedWord[];
}

export interface ReadingRules {
  readonly counts: CatalogueCounts;
  readonly table: ExpansionTable;
  /** Corrections are the dear part: a pasted text gets a few. */
  readonly effort: Effort;
  /** A single character of a script without spaces stands for at most so many of the pairs that documents have it in. */
  readonly pairsMax: number;
}

/** Low, for a guess that is wrong finds by its meaning what nobody asked for (measured 2026-11, both query sets). */
const CERTAINTY = { corrected: 0.4, unfinished: 0.15 };
/** Beside a word that is in the catalogue, its other spelling counts a little less. */
const OTHER_SPELLING_WEIGHT = 0.9;
/** What a real word would be with one letter changed. */
const SECOND_READING_WEIGHT = 0.4;
/** A word that so few documents have, none of them in its title, may be an error of theirs. */
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

/** Documents have it in pairs with its neighbours, so the pairs are looked for in its place; the most usual first. */
function readCharacter({ word }: Token, { counts, pairsMax }: ReadingRules): Reading {
  const pairs = mostUsual(counts.pairsWith(word), pairsMax, counts.countOf);
  return readAs(
    word,
    pairs.map((pair) => ({ word: pair, weight: 1 })),
  );
}

/** Without sorting the thousands that a common character has. */
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

/** Other spellings that documents have. */
function spelledOtherwise(word: string, { vocabulary, countOf }: CatalogueCounts): string[] {
  const spelled = [...otherSpellings(word), spellOut(word, vocabulary) ?? word].filter((other) => other !== word);
  return spelled.filter((other) => countOf(stemEnglish(other)) > 0);
}

/** The last word may be unfinished: nobody waits for the end of a word to search. */
function completionsOf(token: Token, { counts, table }: ReadingRules): WeightedWord[] {
  if (!token.isLast) return [];
  const completions = completeWord(token, counts.vocabulary);
  if (token.word.length <= SHORT_LAST_WORD || !table.hasWord(token.word)) return completions;
  const titlesOf = (word: string) => counts.vocabulary.find(word)?.titleCount ?? 0;
  const isMeantWhole = titlesOf(token.word) * FAR_MORE_USUAL >= titlesOf(completions[0]?.word ?? "");
  return isMeantWhole ? [] : completions;
}
