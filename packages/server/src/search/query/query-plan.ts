/** From the words of a query to what the legs look for: read, expanded and weighted. */
import { contentTokens, tokenize, unspacedCharacters } from "../text/analyser.ts";
import type { Token } from "../text/analyser.ts";
import type { QueryTerm } from "../meaning/built-in-embedder.ts";
import { splitWord } from "../text/spellings.ts";
import type { Expansion, ExpansionTable } from "../text/expansion.ts";
import type { WeightedTerm } from "../indexing/replica-store.ts";
import { stemEnglish } from "../text/analyser.ts";
import type { TimeSlice } from "../text/time-slice.ts";
import { readWord } from "../text/word-readings.ts";
import type { CatalogueCounts, Reading } from "../text/word-readings.ts";

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
const PAIRS = { perCharacter: 50, perQuery: 200 };
/** Bounds the work for a pasted text; real queries have two to six words. */
const TOKENS_MAX = 40;
/** 10 to 20 ms of processor time: about thirty unknown words among 20,000, eight among 70,000 (2026-11). */
const CORRECTION_EFFORT = 1_000_000;
/** Bounds the statement; the words of no query of the evaluation come near it. */
const TERMS_MAX = 400;
const TOKEN_IDF = { min: 1, max: 7 };
/** tf * 2.2 / (tf + 1.2) of one title occurrence, whose tf is 3. */
const TITLE_HIT = (3 * 2.2) / (3 + 1.2);

interface PlanPorts {
  readonly counts: CatalogueCounts;
  readonly table: ExpansionTable;
  readonly slice: TimeSlice;
}

interface ReadToken {
  readonly token: Token;
  readonly reading: Reading;
  readonly expansions: readonly Expansion[];
}

export async function planQuery(query: string, ports: PlanPorts): Promise<QueryPlan> {
  const { counts } = ports;
  const tokens = await findTokens(query, ports);
  const words = await readTokens(tokens, ports);
  const readings = words.map(({ reading }) => reading);
  const joined = joinNeighbours(tokens);
  const lexical = [
    ...words.flatMap((word, group) => directTerms(group, word, counts)),
    ...joined.flatMap((pair) => joinedTerms(pair, readings, counts)),
    ...words.flatMap((word, group) => expandedTerms(group, word, counts)),
  ];
  return {
    tokens,
    lexical: lexical.slice(0, TERMS_MAX),
    dense: [...words.map((word) => denseTerm(word, counts)), ...joined.map(({ term }) => joinedMeaning(term, counts))],
    idealScore: readings.reduce((sum, { term }) => sum + TITLE_HIT * tokenIdf(term, counts), 0),
    certainty: readings.reduce((sum, { certainty }) => sum + certainty, 0) / Math.max(1, readings.length),
    readAs: readings.map(({ word }) => word).join(" "),
  };
}

/** What the query says, each word once, however often it says it. */
async function findTokens(query: string, { counts, table, slice }: PlanPorts): Promise<Token[]> {
  const tokens: Token[] = [];
  for (const token of eachOnce(contentTokens(query)).slice(0, TOKENS_MAX)) {
    tokens.push(...splitUnknown(token, counts, table));
    if (slice.isOver()) await slice.yieldToEventLoop();
  }
  return eachOnce(tokens).slice(0, TOKENS_MAX);
}

/** Of several words of one stem the one that may be unfinished stays, else the first. */
function eachOnce(tokens: readonly Token[]): Token[] {
  const byTerm = new Map<string, Token>();
  for (const token of tokens) {
    const before = byTerm.get(token.term) ?? token;
    const chosen = token.isLast ? token : before;
    byTerm.set(token.term, { ...chosen, isQuoted: before.isQuoted && token.isQuoted });
  }
  return [...byTerm.values()];
}

async function readTokens(tokens: readonly Token[], { counts, table, slice }: PlanPorts): Promise<ReadToken[]> {
  const characters = tokens.filter(({ word }) => unspacedCharacters(word).length === 1).length;
  const pairsMax = Math.min(PAIRS.perCharacter, Math.floor(PAIRS.perQuery / Math.max(1, characters)));
  const perToken = Math.floor(EXPANSIONS.perQuery / Math.max(1, tokens.length));
  const effort = { slice, left: CORRECTION_EFFORT };
  const words: ReadToken[] = [];
  for (const token of tokens) {
    const reading = await readWord(token, { counts, table, effort, pairsMax });
    const expansions = token.isQuoted ? [] : expandWord(reading.word, { counts, table, perToken });
    words.push({ token, reading, expansions });
    if (slice.isOver()) await slice.yieldToEventLoop();
  }
  return words;
}

/** An unfinished word means a little of all it may become. */
function denseTerm({ reading, expansions }: ReadToken, counts: CatalogueCounts): QueryTerm {
  const { term, certainty, isUnfinished, others } = reading;
  const related = isUnfinished
    ? others.map(({ word, weight }) => ({ term: stemEnglish(word), weight })).filter((other) => other.term !== term)
    : expansions;
  return { term, certainty, isInCatalogue: counts.countOf(term) > 0, expansions: related };
}

/** `weatherchart` is searched as weather and chart, if nothing is known of it as a whole. */
function splitUnknown(token: Token, counts: CatalogueCounts, table: ExpansionTable): Token[] {
  const isKnown = token.isQuoted || counts.countOf(token.term) > 0 || table.hasWord(token.word);
  const parts = isKnown ? null : splitWord(token.word, counts.vocabulary);
  if (parts === null) return [token];
  return tokenize(parts.join(" ")).map((part) => ({ ...part, isLast: part.isLast && token.isLast }));
}

interface Joined {
  readonly groups: readonly [number, number];
  readonly term: string;
}

/**
 * `screen play` is searched as screenplay as well, as `screen-play` is: in the place of both words where documents
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

function directTerms(group: number, { token, reading }: ReadToken, counts: CatalogueCounts): WeightedTerm[] {
  const weights = new Map([[token.term, 1]]);
  for (const { word, weight } of reading.others) {
    const term = stemEnglish(word);
    weights.set(term, Math.max(weight, weights.get(term) ?? 0));
  }
  return [...weights]
    .filter(([term]) => counts.countOf(term) > 0)
    .map(([term, weight]) => ({ group, term, weight: weight * idfOf(term, counts), isDirect: true }));
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

function expandedTerms(group: number, { reading, expansions }: ReadToken, counts: CatalogueCounts): WeightedTerm[] {
  return expansions.map(({ term, weight }) => ({
    group,
    term,
    weight: weight * Math.sqrt(idfOf(term, counts) * tokenIdf(reading.term, counts)),
    isDirect: false,
  }));
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
