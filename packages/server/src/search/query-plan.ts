/** From the words of a query to what the legs look for: read, expanded and weighted. */
import { contentTokens, tokenize } from "./analyser.ts";
import type { Token } from "./analyser.ts";
import type { QueryTerm } from "./built-in-embedder.ts";
import { splitWord } from "./compound-words.ts";
import type { Expansion, ExpansionTable } from "./expansion.ts";
import type { WeightedTerm } from "./mirror-store.ts";
import { stemEnglish } from "./stemmer.ts";
import { readWord } from "./word-readings.ts";
import type { CatalogueCounts, Reading } from "./word-readings.ts";

export interface QueryPlan {
  /** Empty: the query has no word that means something, and only titles can answer it. */
  readonly tokens: readonly Token[];
  readonly lexical: readonly WeightedTerm[];
  readonly dense: readonly QueryTerm[];
  /** BM25 of a document of usual length that has every token once in its title. */
  readonly idealScore: number;
  /** Share of the query's words that are read as they are written, 0 to 1. */
  readonly certainty: number;
  /** The words as they are read, to hold titles against. */
  readonly readAs: string;
}

const EXPANSION_WEIGHT_MIN = 0.05;
/** Above this size common expansions cost more time than they find (measured 2026-11 at 100,000 documents). */
const LARGE_CATALOGUE = 20_000;
const EXPANSIONS = { perToken: 25, perTokenLarge: 8, dfShareLarge: 0.15, perQuery: 200 };
/** Bounds the work for a pasted text; real queries have two to six words. */
const TOKENS_MAX = 40;
const CORRECTIONS_MAX = 12;
const TOKEN_IDF = { min: 1, max: 7 };
/** tf * 2.2 / (tf + 1.2) of one title occurrence, whose tf is 3. */
const TITLE_HIT = (3 * 2.2) / (3 + 1.2);

export function planQuery(query: string, counts: CatalogueCounts, table: ExpansionTable): QueryPlan {
  const tokens = splitUnknown(contentTokens(query).slice(0, TOKENS_MAX), counts, table);
  const perToken = Math.floor(EXPANSIONS.perQuery / Math.max(1, tokens.length));
  const readings = tokens.map((token, i) => readWord(token, { counts, table, mayCorrect: i < CORRECTIONS_MAX }));
  const expansions = readings.map(({ word }, i) =>
    tokens[i]?.isQuoted === true ? [] : expandWord(word, { counts, table, perToken }),
  );
  const lexical = readings.flatMap((reading, group) => [
    ...directTerms(group, tokens[group]?.term ?? reading.term, reading, counts),
    ...(expansions[group] ?? []).map((expansion) => expandedTerm(group, reading.term, expansion, counts)),
  ]);
  const joined = joinNeighbours(tokens);
  const dense = readings.map((reading, i) => denseTerm(reading, expansions[i] ?? [], counts));
  return {
    tokens,
    lexical: [...lexical, ...joined.flatMap((pair) => joinedTerms(pair, readings, counts))],
    dense: [...dense, ...joined.map(({ term }) => joinedMeaning(term, counts))],
    idealScore: readings.reduce((sum, { term }) => sum + TITLE_HIT * tokenIdf(term, counts), 0),
    certainty: readings.reduce((sum, { certainty }) => sum + certainty, 0) / Math.max(1, readings.length),
    readAs: readings.map(({ word }) => word).join(" "),
  };
}

/** An unfinished word means a little of all it may become. */
function denseTerm(
  { term, certainty, isUnfinished, others }: Reading,
  expansions: readonly Expansion[],
  counts: CatalogueCounts,
): QueryTerm {
  const related = isUnfinished
    ? others.map(({ word, weight }) => ({ term: stemEnglish(word), weight })).filter((other) => other.term !== term)
    : expansions;
  return { term, certainty, isInCatalogue: counts.countOf(term) > 0, expansions: related };
}

/** `weatherchart` is looked for as weather and chart, if nothing is known of it as a whole. */
function splitUnknown(tokens: readonly Token[], counts: CatalogueCounts, table: ExpansionTable): Token[] {
  return tokens.flatMap((token) => {
    const isKnown = token.isQuoted || counts.countOf(token.term) > 0 || table.hasWord(token.word);
    const parts = isKnown ? null : splitWord(token.word, counts.vocabulary);
    if (parts === null) return [token];
    return tokenize(parts.join(" ")).map((part) => ({ ...part, isLast: part.isLast && token.isLast }));
  });
}

interface Joined {
  readonly groups: readonly [number, number];
  readonly term: string;
}

/**
 * `screen play` is looked for as screenplay as well, as `screen-play` is: in the place of both words where documents
 * have that, and by its meaning where the embedder knows it.
 */
function joinNeighbours(tokens: readonly Token[]): Joined[] {
  return tokens.slice(1).flatMap((token, i) => {
    const before = tokens[i];
    if (before === undefined || before.isQuoted || token.isQuoted) return [];
    return [{ groups: [i, i + 1] as const, term: stemEnglish(`${before.word}${token.word}`) }];
  });
}

/** In the place of each of its parts the joined word counts as much as the part would. */
function joinedTerms({ groups, term }: Joined, readings: readonly Reading[], counts: CatalogueCounts): WeightedTerm[] {
  if (counts.countOf(term) === 0) return [];
  return groups.map((group) => {
    const own = tokenIdf(readings[group]?.term ?? term, counts);
    return { group, term, weight: Math.min(own, idfOf(term, counts)), isDirect: true };
  });
}

function joinedMeaning(term: string, counts: CatalogueCounts): QueryTerm {
  return { term, certainty: 1, isInCatalogue: counts.countOf(term) > 0, expansions: [], isExtra: true };
}

function directTerms(group: number, own: string, reading: Reading, counts: CatalogueCounts): WeightedTerm[] {
  const others = reading.others.map(({ word, weight }) => ({ term: stemEnglish(word), weight }));
  return [{ term: own, weight: 1 }, ...others]
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
