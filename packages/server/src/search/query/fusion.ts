/**
 * Combines three kinds of evidence into one ranking: words, meaning, and title likeness. It weighs scores, not ranks:
 * with reciprocal ranks, a noisy list would count as much as a perfect one (typing errors .848 -> .714, measured
 * 2026-11).
 */
import type { LexicalHit } from "../indexing/replica-store.ts";

export interface Evidence {
  readonly lexical: readonly LexicalHit[];
  /** The score of a document with all of the query's words in its title. */
  readonly idealLexical: number;
  /** Share of the query's words, 0 to 1, that are certainly meant as written. */
  readonly certainty: number;
  /** Null when no embedder was available. */
  readonly dense: DenseEvidence | null;
  /** Document -> likeness of its title; only values above 0. */
  readonly titles: ReadonlyMap<number, number>;
  /** Whether a similar title alone is enough to show a document. */
  readonly areTitlesTelling: boolean;
}

export interface NearDocument {
  readonly doc: number;
  /** Nearness used for ranking; it may include feedback from the nearest documents. */
  readonly cosine: number;
  /** Nearness to the query itself. */
  readonly ownCosine: number;
}

export interface DenseEvidence {
  readonly neighbors: readonly NearDocument[];
  /** How much of the query the embedder knows, 0 to 1. */
  readonly coverage: number;
  /** A document without other evidence needs at least this cosine to the query itself. */
  readonly cosineMin: number;
  readonly weights: FusionWeights;
}

export interface FusionWeights {
  readonly lexical: number;
  readonly dense: number;
  readonly title: number;
}

export interface Ranked {
  readonly doc: number;
  /** Rounded to six decimals, so that equal evidence gives equal scores. */
  readonly score: number;
}

const DOUBT_WEIGHT = 0.75;
const WORDS_ONLY: FusionWeights = { lexical: 1, dense: 0, title: 0.3 };

/**
 * Ranks documents, best first; equal scores by document number. Documents below the floor are left out.
 *
 * Word scores count relative to the ideal, not to the best document found: when the best document has one word of four,
 * meaning should decide (paraphrases .249 -> .287, the other classes unchanged, measured 2026-11).
 */
export function fuse(evidence: Evidence): Ranked[] {
  const { lexical, idealLexical, certainty, dense, titles } = evidence;
  const isDense = dense !== null && dense.coverage > 0;
  const weights = isDense ? trustLetters(dense.weights, 1 - certainty) : WORDS_ONLY;
  const denseWeight = isDense ? weights.dense * dense.coverage : 0;
  const neighbors = isDense ? dense.neighbors : [];
  const lexicalMax = lexical.reduce((max, { score }) => Math.max(max, score), isDense ? idealLexical : 0);
  const cosineMax = neighbors.reduce((max, { cosine }) => Math.max(max, cosine), 0);
  const scores = new Map<number, number>();
  const add = (doc: number, score: number) => scores.set(doc, (scores.get(doc) ?? 0) + score);
  for (const { doc, score } of lexical) add(doc, (weights.lexical * score) / lexicalMax);
  for (const { doc, cosine } of neighbors) if (cosine > 0) add(doc, (denseWeight * cosine) / cosineMax);
  for (const [doc, likeness] of titles) add(doc, weights.title * likeness);
  const supported = supportedDocs(evidence);
  return [...scores]
    .filter(([doc]) => supported.has(doc))
    .map(([doc, score]) => ({ doc, score: Math.round(score * 1e6) / 1e6 }))
    .sort((a, b) => b.score - a.score || a.doc - b.doc);
}

/**
 * If words had to be guessed, their letters say more than the meaning of the guess (misspelled and unfinished words
 * .844 -> .902 on one half of our own queries, nothing lost elsewhere, measured 2026-11).
 */
function trustLetters(weights: FusionWeights, doubt: number): FusionWeights {
  const more = DOUBT_WEIGHT * doubt;
  return { ...weights, lexical: weights.lexical + more, title: weights.title + more };
}

/**
 * Dividing by the highest score hides how good it was, so a document also needs an absolute reason: a word of the query
 * or its correction, a similar title, or a similar meaning.
 */
function supportedDocs({ lexical, dense, titles, areTitlesTelling }: Evidence): Set<number> {
  const near = dense === null ? [] : dense.neighbors.filter(({ ownCosine }) => ownCosine >= dense.cosineMin);
  return new Set([
    ...lexical.filter(({ isDirect }) => isDirect).map(({ doc }) => doc),
    ...(areTitlesTelling ? titles.keys() : []),
    ...near.map(({ doc }) => doc),
  ]);
}

export interface Popularity {
  readonly uses: number;
  readonly upVotes: number;
}

export type PopularityOf = (promptIds: readonly string[]) => Promise<ReadonlyMap<string, Popularity>>;

/**
 * Returns the ids of the first `limit` prompts. Popularity is read only for equal scores: it breaks ties, and never
 * lifts a prompt over a better match.
 */
export async function orderPrompts(
  ranked: readonly { readonly promptId: string; readonly score: number }[],
  limit: number,
  popularityOf: PopularityOf | undefined,
): Promise<string[]> {
  const last = ranked[limit - 1]?.score ?? Number.NEGATIVE_INFINITY;
  const candidates = ranked.filter(({ score }) => score >= last);
  const tied = candidates.filter(
    ({ score }, i) => score === candidates[i - 1]?.score || score === candidates[i + 1]?.score,
  );
  const popularity =
    tied.length === 0 || popularityOf === undefined ? null : await popularityOf(tied.map(({ promptId }) => promptId));
  const known = (promptId: string) => popularity?.get(promptId) ?? { uses: 0, upVotes: 0 };
  return [...candidates]
    .sort((a, b) => {
      const [x, y] = [known(a.promptId), known(b.promptId)];
      return b.score - a.score || y.uses - x.uses || y.upVotes - x.upVotes || (a.promptId < b.promptId ? -1 : 1);
    })
    .slice(0, limit)
    .map(({ promptId }) => promptId);
}
