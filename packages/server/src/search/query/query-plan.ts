/** Turns the words of a query into what the searches look for: read, expanded, and weighted. */
import { tokenize, unspacedCharacters, stemEnglish } from "../text/analyser.ts";
import type { QueryTerm } from "../meaning/built-in-embedder.ts";
import { splitWord } from "../text/spellings.ts";
import type { Expansion, ExpansionTable } from "../text/expansion.ts";
import type { WeightedTerm } from "../indexing/replica-store.ts";
import type { TimeSlice } from "../../platform/time-slice.ts";
import type { Translation, Translator } from "../text/translation.ts";
import { tokensOfQuery, weighWords, type QueryToken } from "../text/query-intent.ts";
import { readWord, type CatalogueCounts, type Reading } from "../text/word-readings.ts";

export interface QueryPlan {
  /** Empty: the query has no meaningful word, so only titles can match it. */
  readonly tokens: readonly QueryToken[];
  readonly lexical: readonly WeightedTerm[];
  readonly dense: readonly QueryTerm[];
  /** BM25 score of a document of average length that has every token once in its title. */
  readonly idealScore: number;
  /** Share of the query's words, 0 to 1, that are read as written. */
  readonly certainty: number;
  /** The words as read, to compare with titles. */
  readonly readAs: string;
  /** The words for the thing itself, if context words count less; otherwise null. */
  readonly head: string | null;
}

const EXPANSION_WEIGHT_MIN = 0.05;
/** Above this size, common expansions cost more time than they are worth (measured 2026-11 at 100,000 documents). */
const LARGE_CATALOGUE = 20_000;
const EXPANSIONS = { perToken: 25, perTokenLarge: 8, dfShareLarge: 0.15, perQuery: 200 };
const PAIRS = { perCharacter: 50, perQuery: 200 };
/** Limits the work for pasted text; real queries have two to six words. */
const TOKENS_MAX = 40;
/** 10 to 20 ms of processor time: about thirty unknown words among 20,000, eight among 70,000 (2026-11). */
const CORRECTION_EFFORT = 1_000_000;
/** Limits the statement; no query of the evaluation comes near it. */
const TERMS_MAX = 400;
const TOKEN_IDF = { min: 1, max: 7 };
/** tf * 2.2 / (tf + 1.2) for one title occurrence, whose tf is 3. */
const TITLE_HIT = (3 * 2.2) / (3 + 1.2);

export interface PlanPorts {
  readonly counts: CatalogueCounts;
  readonly table: ExpansionTable;
  readonly translator: Translator;
  readonly slice: TimeSlice;
}

interface ReadToken {
  readonly token: QueryToken;
  readonly reading: Reading;
  readonly expansions: readonly Expansion[];
}

interface WeighedWord extends ReadToken {
  /** Its share of the need, 0 to 1. */
  readonly weight: number;
}

export async function planQuery(query: string, ports: PlanPorts): Promise<QueryPlan> {
  const { counts, table, translator } = ports;
  const translation = translator.translate(query, {
    isEnglish: (word) => table.hasWord(word) || mayBecomeTitle(word, query, counts),
    isTitled: (word) => (counts.vocabulary.find(word)?.titleCount ?? 0) > 0,
  });
  const saysNothing = translator.isOfSmallWords(query, (word) => table.hasWord(word));
  const tokens = saysNothing ? [] : await findTokens(translation?.text ?? query, ports);
  const read = await readTokens(tokens, ports);
  const weights = weighWords(read, counts.vocabulary);
  const words = read.map((word, i) => ({ ...word, weight: weights[i] ?? 1 }));
  const readings = words.map(({ reading }) => reading);
  const joined = joinNeighbors(words);
  const lexical = [
    ...words.flatMap((word, group) => directTerms(group, word, counts, translation)),
    ...joined.flatMap((pair) => joinedTerms(pair, readings, counts)),
    ...words.flatMap((word, group) => expandedTerms(group, word, counts)),
  ];
  return {
    tokens,
    lexical: lexical.slice(0, TERMS_MAX),
    dense: [...words.map((word) => denseTerm(word, counts)), ...joined.map((pair) => joinedMeaning(pair, counts))],
    idealScore: words.reduce((sum, word) => sum + TITLE_HIT * word.weight * tokenIdf(word.reading.term, counts), 0),
    certainty: readings.reduce((sum, { certainty }) => sum + certainty, 0) / Math.max(1, readings.length),
    readAs: readAs(words),
    head: words.some(({ weight, token }) => token.isContext && weight < 1)
      ? readAs(words.filter(({ token }) => !token.isContext))
      : null,
  };
}

function readAs(words: readonly ReadToken[]): string {
  return words.map(({ reading }) => reading.word).join(" ");
}

/** `mer` may become mermaid while it is typed, so it is not certainly French. */
function mayBecomeTitle(word: string, query: string, { vocabulary }: CatalogueCounts): boolean {
  if (!query.toLowerCase().endsWith(word) || word.length < 2) return false;
  for (const { titleCount } of vocabulary.completionsOf(word)) if (titleCount > 0) return true;
  return false;
}

/** The words of the query, each once, however often it occurs. */
async function findTokens(query: string, { counts, table, slice }: PlanPorts): Promise<QueryToken[]> {
  const tokens: QueryToken[] = [];
  for (const token of eachOnce(tokensOfQuery(query)).slice(0, TOKENS_MAX)) {
    tokens.push(...splitUnknown(token, counts, table));
    if (slice.isOver()) await slice.yieldToEventLoop();
  }
  return eachOnce(tokens).slice(0, TOKENS_MAX);
}

/** Of several words with the same stem, keeps the possibly unfinished one, or else the first. */
function eachOnce(tokens: readonly QueryToken[]): QueryToken[] {
  const byTerm = new Map<string, QueryToken>();
  for (const token of tokens) {
    const before = byTerm.get(token.term) ?? token;
    const chosen = token.isLast ? token : before;
    byTerm.set(token.term, {
      ...chosen,
      isQuoted: before.isQuoted && token.isQuoted,
      isContext: before.isContext,
    });
  }
  return [...byTerm.values()];
}

async function readTokens(tokens: readonly QueryToken[], { counts, table, slice }: PlanPorts): Promise<ReadToken[]> {
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

/** An unfinished word means a little of everything it may become. */
function denseTerm({ weight, reading, expansions }: WeighedWord, counts: CatalogueCounts): QueryTerm {
  const { term, certainty, isUnfinished, others } = reading;
  const related = isUnfinished
    ? others
        .map((other) => ({ term: stemEnglish(other.word), weight: other.weight }))
        .filter((other) => other.term !== term)
    : expansions;
  return { term, certainty, weight, isInCatalogue: counts.countOf(term) > 0, expansions: related };
}

/** `weatherchart` is searched as weather and chart, if it is unknown as a whole. */
function splitUnknown(token: QueryToken, counts: CatalogueCounts, table: ExpansionTable): QueryToken[] {
  const isKnown = token.isQuoted || counts.countOf(token.term) > 0 || table.hasWord(token.word);
  const parts = isKnown ? null : splitWord(token.word, counts.vocabulary);
  if (parts === null) return [token];
  const { isContext } = token;
  return tokenize(parts.join(" ")).map((part) => ({ ...part, isLast: part.isLast && token.isLast, isContext }));
}

interface Joined {
  readonly groups: readonly [number, number];
  readonly term: string;
  readonly weight: number;
}

/**
 * `screen play` is also searched as screenplay, like `screen-play`: in place of both words if documents have it, and by
 * its meaning if the embedder knows it.
 */
function joinNeighbors(words: readonly WeighedWord[]): Joined[] {
  return words.slice(1).flatMap(({ token, weight }, i) => {
    const before = words[i];
    if (before === undefined || before.token.isQuoted || token.isQuoted) return [];
    const term = stemEnglish(`${before.token.word}${token.word}`);
    return [{ groups: [i, i + 1] as const, term, weight: Math.min(before.weight, weight) }];
  });
}

/** In place of each of its parts, the joined word counts as much as the part would. */
function joinedTerms(
  { groups, term, weight }: Joined,
  readings: readonly Reading[],
  counts: CatalogueCounts,
): WeightedTerm[] {
  if (counts.countOf(term) === 0) return [];
  return groups.map((group) => {
    const own = tokenIdf(readings[group]?.term ?? term, counts);
    return { group, term, weight: weight * Math.min(own, idfOf(term, counts)), isDirect: true };
  });
}

function joinedMeaning({ term, weight }: Joined, counts: CatalogueCounts): QueryTerm {
  return { term, certainty: 1, weight, isInCatalogue: counts.countOf(term) > 0, expansions: [], isExtra: true };
}

function directTerms(
  group: number,
  { token, reading, weight }: WeighedWord,
  counts: CatalogueCounts,
  translation: Translation | null,
): WeightedTerm[] {
  const shares = new Map([[token.term, 1]]);
  for (const other of [...reading.others, ...(translation?.others.get(token.word) ?? [])]) {
    const term = stemEnglish(other.word);
    shares.set(term, Math.max(other.weight, shares.get(term) ?? 0));
  }
  return [...shares]
    .filter(([term]) => counts.countOf(term) > 0)
    .map(([term, share]) => ({ group, term, weight: weight * share * idfOf(term, counts), isDirect: true }));
}

function expandWord(
  word: string,
  { counts, table, perToken }: { counts: CatalogueCounts; table: ExpansionTable; perToken: number },
): Expansion[] {
  const isLarge = counts.documentCount > LARGE_CATALOGUE;
  const dfMax = isLarge ? EXPANSIONS.dfShareLarge * counts.documentCount : counts.documentCount;
  const limit = Math.min(perToken, isLarge ? EXPANSIONS.perTokenLarge : EXPANSIONS.perToken);
  const isUseful = ({ term, weight }: Expansion): boolean => {
    const df = counts.countOf(term);
    return weight >= EXPANSION_WEIGHT_MIN && df >= 1 && df <= dfMax;
  };
  return table.expand(word).filter(isUseful).slice(0, limit);
}

function expandedTerms(group: number, { reading, expansions, weight }: WeighedWord, counts: CatalogueCounts) {
  return expansions.map((other): WeightedTerm => ({
    group,
    term: other.term,
    weight: weight * other.weight * Math.sqrt(idfOf(other.term, counts) * tokenIdf(reading.term, counts)),
    isDirect: false,
  }));
}

/** Limited, so that a word in no document does not count more than a rare one. */
function tokenIdf(term: string, counts: CatalogueCounts): number {
  return Math.max(TOKEN_IDF.min, Math.min(TOKEN_IDF.max, idfOf(term, counts)));
}

function idfOf(term: string, counts: CatalogueCounts): number {
  const df = counts.countOf(term);
  return Math.log(1 + (Math.max(counts.documentCount, df) - df + 0.5) / (df + 0.5));
}
