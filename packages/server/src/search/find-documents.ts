/** The query, in steps: plan it, ask the legs at the same time, weigh their evidence, put an exact title first. */
import type { Database } from "../platform/database.ts";
import type { Gate } from "../platform/gate.ts";
import type { ExpansionTable } from "./expansion.ts";
import { fuse } from "./fusion.ts";
import type { DenseEvidence, Ranked } from "./fusion.ts";
import { findByTerms } from "./mirror-store.ts";
import type { LexicalHit } from "./mirror-store.ts";
import type { Mirror } from "./mirror.ts";
import { planQuery } from "./query-plan.ts";
import type { QueryPlan } from "./query-plan.ts";
import { findLiterally, likenTitles } from "./title-likeness.ts";

export interface FindPorts {
  readonly db: Database;
  readonly mirror: Mirror;
  readonly table: ExpansionTable;
  /** Keeps search from taking every connection. */
  readonly gate: Gate;
  /** Null when no embedder can answer. Never rejects. */
  readonly findByMeaning: (query: string, plan: QueryPlan, limit: number) => Promise<DenseEvidence | null>;
}

const CANDIDATES_PER_LEG = 100;
/** Best first; at most the candidates of all legs together. */
export async function findDocuments(query: string, ports: FindPorts): Promise<Ranked[]> {
  const { mirror } = ports;
  const plan = planQuery(query, countsOf(mirror), ports.table);
  const ranked = await (plan.tokens.length === 0 ? rankLiterally(query, mirror) : rankByEvidence(query, plan, ports));
  const exact = mirror.docsTitled(query);
  return putFirst(exact.length > 0 ? exact : mirror.docsSpelled(query), ranked);
}

async function rankByEvidence(query: string, plan: QueryPlan, ports: FindPorts): Promise<Ranked[]> {
  const [lexical, dense] = await Promise.all([
    findByWords(plan, ports),
    ports.findByMeaning(query, plan, CANDIDATES_PER_LEG),
  ]);
  const candidates = new Set([...lexical, ...(dense?.neighbours ?? [])].map(({ doc }) => doc));
  const documents = [...candidates].flatMap((doc) => ports.mirror.documents.get(doc) ?? []);
  await new Promise((resolve) => setImmediate(resolve)); // other work's turn: the scan of the vectors has just ended
  return fuse({
    lexical,
    idealLexical: plan.idealScore,
    certainty: plan.certainty,
    dense,
    titles: likenTitles([query, plan.readAs], documents),
  });
}

async function findByWords(plan: QueryPlan, { db, mirror, gate }: FindPorts): Promise<LexicalHit[]> {
  if (plan.lexical.length === 0) return [];
  return gate.run(() => findByTerms(db, plan.lexical, mirror.averageLength, CANDIDATES_PER_LEG));
}

/** By likeness; where letters say nothing (emoji, signs), the shorter title says more of the query. */
async function rankLiterally(query: string, mirror: Mirror): Promise<Ranked[]> {
  const found = await findLiterally(query, mirror.titles());
  const documents = found.flatMap((doc) => mirror.documents.get(doc) ?? []);
  const likeness = likenTitles([query], documents);
  return documents
    .map(({ doc, title }) => ({ doc, score: likeness.get(doc) ?? 1 / (1 + title.length) }))
    .sort((a, b) => b.score - a.score || a.doc - b.doc);
}

/** Whoever types a title wants that prompt, whatever the scores say. */
function putFirst(exact: readonly number[], ranked: readonly Ranked[]): Ranked[] {
  if (exact.length === 0) return [...ranked];
  const scores = new Map(ranked.map(({ doc, score }) => [doc, score]));
  const above = (ranked[0]?.score ?? 0) + 1;
  const first = exact
    .map((doc) => ({ doc, score: above + (scores.get(doc) ?? 0) }))
    .sort((a, b) => b.score - a.score || a.doc - b.doc);
  return [...first, ...ranked.filter(({ doc }) => !exact.includes(doc))];
}

function countsOf(mirror: Mirror) {
  return {
    documentCount: mirror.documents.size,
    vocabulary: mirror.vocabulary,
    countOf: (term: string) => mirror.countOf(term),
    pairsWith: (character: string) => mirror.pairsWith(character),
  };
}
