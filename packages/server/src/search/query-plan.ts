/** From the words of a query to what the legs look for: corrected, completed, expanded and weighted. */
import { contentTokens } from "./analyser.ts";
import type { Token } from "./analyser.ts";
import type { Expansion, ExpansionTable } from "./expansion.ts";
import type { QueryTerm } from "./lsa.ts";
import type { WeightedTerm } from "./mirror-store.ts";
import { completeWord, correctWord } from "./speller.ts";
import type { Correction } from "./speller.ts";
import { stemEnglish } from "./stemmer.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** What the plan needs to know of the catalogue. */
export interface CatalogueCounts {
  readonly documentCount: number;
  readonly vocabulary: Vocabulary;
  countOf(term: string): number;
}

export interface QueryPlan {
  /** Empty: the query has no word that means something, and only titles can answer it. */
  readonly tokens: readonly Token[];
  readonly lexical: readonly WeightedTerm[];
  readonly dense: readonly QueryTerm[];
  /** BM25 of a document of usual length that has every token once in its title. */
  readonly idealScore: number;
}

const EXPANSION_WEIGHT_MIN = 0.05;
/** Above this size common expansions cost more time than they find (measured 2026-11 at 100,000 documents). */
const LARGE_CATALOGUE = 20_000;
const EXPANSIONS = { perToken: 25, perTokenLarge: 8, dfShareLarge: 0.15, perQuery: 200 };
/** Bounds the work for a pasted text; real queries have two to six words. */
const TOKENS_MAX = 40;
const CORRECTIONS_MAX = 12;
const SHORT_LAST_WORD = 3;
const TOKEN_IDF = { min: 1, max: 7 };
/** tf * 2.2 / (tf + 1.2) of one title occurrence, whose tf is 3. */
const TITLE_HIT = (3 * 2.2) / (3 + 1.2);

export function planQuery(query: string, counts: CatalogueCounts, table: ExpansionTable): QueryPlan {
  const tokens = contentTokens(query).slice(0, TOKENS_MAX);
  const perToken = Math.floor(EXPANSIONS.perQuery / Math.max(1, tokens.length));
  const lexical: WeightedTerm[] = [];
  const dense: QueryTerm[] = [];
  let correctionsLeft = CORRECTIONS_MAX;
  for (const [group, token] of tokens.entries()) {
    const mayCorrect = correctionsLeft > 0 && needsCorrection(token, counts, table);
    const corrections = mayCorrect ? correctWord(token.word, counts.vocabulary) : [];
    if (mayCorrect) correctionsLeft -= 1;
    const best = corrections[0];
    const word = best?.word ?? token.word;
    const term = best === undefined ? token.term : stemEnglish(best.word);
    const expansions = token.isQuoted ? [] : expandWord(word, { counts, table, perToken });
    lexical.push(
      ...directTerms(group, token, [...corrections, ...completionsOf(token, counts, table)], counts),
      ...expansions.map((expansion) => expandedTerm(group, term, expansion, counts)),
    );
    dense.push({ term, isInCatalogue: counts.countOf(term) > 0, expansions });
  }
  const idealScore = dense.reduce((sum, { term }) => sum + TITLE_HIT * tokenIdf(term, counts), 0);
  return { tokens, lexical, dense, idealScore };
}

/**
 * Real words stay as they are although no document has them: "corrected", they would turn a question in other words
 * into another question.
 */
function needsCorrection(token: Token, counts: CatalogueCounts, table: ExpansionTable): boolean {
  const isKnown = counts.countOf(token.term) > 0 || counts.vocabulary.has(token.word);
  return !token.isQuoted && !isKnown && !table.hasWord(token.word);
}

/** The last word may be unfinished: nobody waits for the end of a word to search. */
function completionsOf(token: Token, counts: CatalogueCounts, table: ExpansionTable): Correction[] {
  const mayBeUnfinished = token.isLast && !token.isQuoted;
  if (!mayBeUnfinished || (token.word.length > SHORT_LAST_WORD && table.hasWord(token.word))) return [];
  return completeWord(token, counts.vocabulary);
}

function directTerms(
  group: number,
  token: Token,
  meant: readonly Correction[],
  counts: CatalogueCounts,
): WeightedTerm[] {
  const candidates = [
    { term: token.term, weight: 1 },
    ...meant.map(({ word, weight }) => ({ term: stemEnglish(word), weight })),
  ];
  return candidates
    .filter(({ term }) => counts.countOf(term) > 0)
    .map(({ term, weight }) => ({ group, term, weight: weight * idfOf(term, counts), isDirect: true }));
}

function expandWord(
  word: string,
  { counts, table, perToken }: { counts: CatalogueCounts; table: ExpansionTable; perToken: number },
): Expansion[] {
  const isLarge = counts.documentCount > LARGE_CATALOGUE;
  const dfMax = isLarge ? EXPANSIONS.dfShareLarge * counts.documentCount : counts.documentCount;
  const limit = Math.min(perToken, isLarge ? EXPANSIONS.perTokenLarge : EXPANSIONS.perToken);
  return table
    .expand(word)
    .filter(({ term, weight }) => weight >= EXPANSION_WEIGHT_MIN && isBetween(counts.countOf(term), 1, dfMax))
    .slice(0, limit);
}

function expandedTerm(group: number, term: string, expansion: Expansion, counts: CatalogueCounts): WeightedTerm {
  const weight = expansion.weight * Math.sqrt(idfOf(expansion.term, counts) * tokenIdf(term, counts));
  return { group, term: expansion.term, weight, isDirect: false };
}

function isBetween(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

/** Bounded, so that a word of no document does not count for more than a rare one. */
function tokenIdf(term: string, counts: CatalogueCounts): number {
  return Math.max(TOKEN_IDF.min, Math.min(TOKEN_IDF.max, idfOf(term, counts)));
}

function idfOf(term: string, counts: CatalogueCounts): number {
  const df = counts.countOf(term);
  return Math.log(1 + (Math.max(counts.documentCount, df) - df + 0.5) / (df + 0.5));
}
