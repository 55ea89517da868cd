/**
 * Answers a query in steps: plan it, run the word search and the meaning search in parallel, weigh their evidence, and
 * put an exact title first.
 */
import type { Database } from "../../platform/database/database.ts";
import { isOutage } from "../../platform/database/errors.ts";
import type { Semaphore } from "../../platform/resilience/semaphore.ts";
import type { Log } from "../../platform/log.ts";
import { cutQuery } from "../text/analyser.ts";
import type { ExpansionTable } from "../text/expansion.ts";
import type { Translator } from "../text/translation.ts";
import { fuse, type DenseEvidence, type Ranked } from "./fusion.ts";
import { findByTerms, type LexicalHit } from "../indexing/replica-store.ts";
import type { IndexReplica } from "../indexing/replica.ts";
import { planQuery, type QueryPlan } from "./query-plan.ts";
import { findLiterally, scoreTitles } from "../text/title-similarity.ts";
import { createTimeSlice, type TimeSlice } from "../../platform/time-slice.ts";

export interface FindPorts {
  readonly db: Database;
  readonly replica: IndexReplica;
  readonly table: ExpansionTable;
  readonly translator: Translator;
  readonly log: Log;
  /** Limits the connections that search uses. */
  readonly connections: Semaphore;
  /** Timeout of the word search in the database. */
  readonly wordsTimeoutMs: number;
  /** Null when no embedder is available. Never rejects. */
  readonly findByMeaning: (query: string, plan: QueryPlan, limit: number) => Promise<DenseEvidence | null>;
}

const CANDIDATES_PER_LEG = 100;
/** How many prompts with the same title are compared by popularity. */
const EXACT_MAX = 500;

/** Finds documents, best first; at most the candidates of the word and meaning searches together. */
export async function findDocuments(query: string, ports: FindPorts): Promise<Ranked[]> {
  const { replica } = ports;
  const slice = createTimeSlice();
  const text = cutQuery(query);
  const { table, translator } = ports;
  const plan = await planQuery(text, { counts: countsOf(replica), table, translator, slice });
  const ranked = await (plan.tokens.length === 0
    ? rankLiterally(text, replica, slice)
    : rankByEvidence(text, plan, { ...ports, slice }));
  const exact = replica.docsTitled(query);
  return putFirst(exact.size > 0 ? exact : replica.docsSpelled(query), ranked);
}

async function rankByEvidence(
  query: string,
  plan: QueryPlan,
  ports: FindPorts & { readonly slice: TimeSlice },
): Promise<Ranked[]> {
  if (ports.slice.isOver()) await ports.slice.yieldToEventLoop();
  const [words, dense] = await Promise.all([
    findByWords(plan, ports),
    ports.findByMeaning(query, plan, CANDIDATES_PER_LEG),
  ]);
  const lexical = words.hits;
  const candidates = new Set([...lexical, ...(dense?.neighbors ?? [])].map(({ doc }) => doc));
  const documents = [...candidates].flatMap((doc) => ports.replica.documents.get(doc) ?? []);
  await ports.slice.yieldToEventLoop(); // the vector scan has just ended
  const { titles, isTelling } = await scoreTitles(
    { forms: [query, plan.readAs], head: plan.head },
    documents,
    ports.slice,
  );
  const ranked = fuse({
    lexical,
    idealLexical: plan.idealScore,
    certainty: plan.certainty,
    dense,
    titles,
    areTitlesTelling: isTelling,
  });
  // An empty result would claim that no such prompt exists, although the word search failed.
  if (ranked.length === 0 && words.failure !== null) throw words.failure;
  return ranked;
}

/**
 * Finds documents by words. For words that most prompts have, the database may take too long; the result then comes
 * from meaning and titles.
 * @returns `failure`: why the word search failed.
 */
async function findByWords(
  plan: QueryPlan,
  { db, replica, connections, log, wordsTimeoutMs }: FindPorts,
): Promise<{ readonly hits: readonly LexicalHit[]; readonly failure: Error | null }> {
  if (plan.lexical.length === 0) return { hits: [], failure: null };
  const wanted = { terms: plan.lexical, averageLength: replica.averageLength, limit: CANDIDATES_PER_LEG };
  try {
    return { hits: await connections.run(() => findByTerms(db, wanted, wordsTimeoutMs)), failure: null };
  } catch (error) {
    if (!(error instanceof TooManySearches) && !isOutage(error)) throw error;
    const failure = error as Error;
    log.warn(
      { err: failure, words: plan.tokens.length, terms: plan.lexical.length },
      "a query was answered without a word search",
    );
    return { hits: [], failure };
  }
}

/** Other searches used all connections for searches until the timeout. */
export class TooManySearches extends Error {
  override readonly name = "TooManySearches";

  constructor() {
    super("All connections for searches are in use.");
  }
}

/** Ranks by likeness. If letters say nothing (emoji, signs), a shorter title matches more closely. */
async function rankLiterally(query: string, replica: IndexReplica, slice: TimeSlice): Promise<Ranked[]> {
  const found = await findLiterally(query, replica.titles(), slice);
  const documents = found.flatMap((doc) => replica.documents.get(doc) ?? []);
  const { titles } = await scoreTitles({ forms: [query] }, documents, slice);
  return documents
    .map(({ doc, title }) => ({ doc, score: titles.get(doc) ?? 1 / (1 + title.length) }))
    .sort((a, b) => b.score - a.score || a.doc - b.doc);
}

/** A query that equals a title asks for that prompt, whatever the scores. */
function putFirst(exact: ReadonlySet<number>, ranked: readonly Ranked[]): Ranked[] {
  const above = (ranked[0]?.score ?? 0) + 1;
  const [first, rest] = [ranked.filter(({ doc }) => exact.has(doc)), ranked.filter(({ doc }) => !exact.has(doc))];
  const lifted = new Map(first.map(({ doc, score }) => [doc, { doc, score: above + score }]));
  for (const doc of exact) {
    if (lifted.size >= EXACT_MAX) break;
    if (!lifted.has(doc)) lifted.set(doc, { doc, score: above });
  }
  return [...[...lifted.values()].sort((a, b) => b.score - a.score || a.doc - b.doc), ...rest];
}

function countsOf(replica: IndexReplica) {
  return {
    documentCount: replica.documents.size,
    vocabulary: replica.vocabulary,
    countOf: (term: string) => replica.countOf(term),
    pairsWith: (character: string) => replica.pairsWith(character),
  };
}
