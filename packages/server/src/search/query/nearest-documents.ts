/** Finds the nearest documents by meaning, as evidence for the ranking. */
import { coverageOf, foldQuery, scaleToUnit, type BuiltInEmbedder } from "../meaning/built-in-embedder.ts";
import type { DenseEvidence, FusionWeights, NearDocument } from "./fusion.ts";
import type { QueryPlan } from "./query-plan.ts";
import type { Neighbor, VectorMatrix } from "../meaning/vector-matrix.ts";

/** Fitted to the built-in embedder on the development queries, 2026-11. */
const BUILT_IN_WEIGHTS: FusionWeights = { lexical: 0.5, dense: 1.2, title: 0.6 };
const BUILT_IN_COSINE_MIN = 0.2;
/**
 * Rocchio feedback: the three nearest documents, weighted by nearness, pull the query toward themselves as strongly as
 * its own words. Measured 2026-11 on the development queries: paraphrases .223 -> .248, words .956 -> .960; flat
 * between 2 and 4 documents and between strengths of 0.7 and 2.5. Only the nearest documents are ranked again, so that
 * the matrix is read once (100 to 800 of them give the same result).
 */
const FEEDBACK = { documents: 3, strength: 1, candidates: 200 };

/** Null when the built-in embedder knows none of the query's words. */
export async function findByBuiltIn(
  base: BuiltInEmbedder,
  matrix: VectorMatrix,
  plan: QueryPlan,
  limit: number,
): Promise<DenseEvidence | null> {
  const vector = foldQuery(base, plan.dense);
  if (vector === null) return null;
  const candidates = await matrix.findNearest(vector, Math.max(limit, FEEDBACK.candidates));
  return {
    neighbors: rankWithFeedback(matrix, vector, candidates).slice(0, limit),
    coverage: coverageOf(base, plan.dense),
    cosineMin: BUILT_IN_COSINE_MIN,
    weights: BUILT_IN_WEIGHTS,
  };
}

function rankWithFeedback(matrix: VectorMatrix, vector: Float32Array, candidates: readonly Neighbor[]): NearDocument[] {
  const nearest = candidates.slice(0, FEEDBACK.documents).filter(({ cosine }) => cosine > 0);
  const total = nearest.reduce((sum, { cosine }) => sum + cosine, 0);
  const learned = Float32Array.from(vector);
  for (const { doc, cosine } of nearest) matrix.addTo(learned, doc, (FEEDBACK.strength * cosine) / total);
  const ownCosine = new Map(candidates.map(({ doc, cosine }) => [doc, cosine]));
  return matrix
    .rank(scaleToUnit(learned) ?? vector, [...ownCosine.keys()])
    .map(({ doc, cosine }) => ({ doc, cosine, ownCosine: ownCosine.get(doc) ?? 0 }));
}

/**
 * Not measured, since no model's weights were available. The common part of all documents is removed here too, so a
 * chance cosine is about 0 with a handful of documents or more; one document cannot show what is common, and two hardly
 * can.
 */
const REMOTE_COSINE_MIN = 0.3;

/**
 * Does the same with a vector from the embeddings model, which knows every word and needs no feedback. The model got
 * the words as written, so its vector counts in proportion to how certainly they are meant.
 */
export async function findByVector(
  matrix: VectorMatrix,
  vector: Float32Array,
  { certainty, limit }: { readonly certainty: number; readonly limit: number },
): Promise<DenseEvidence> {
  const neighbors = await matrix.findNearest(vector, limit);
  return {
    neighbors: neighbors.map(({ doc, cosine }) => ({ doc, cosine, ownCosine: cosine })),
    coverage: certainty,
    cosineMin: REMOTE_COSINE_MIN,
    weights: BUILT_IN_WEIGHTS,
  };
}

/**
 * Combines both: each neighbor's cosine relative to the nearest one's, weighted by the shares. A document that is near
 * enough for one of them is near enough. Without evidence from the built-in embedder, the model still gets only its
 * share.
 */
export function mixEvidence(builtIn: DenseEvidence | null, model: DenseEvidence, share: number): DenseEvidence {
  const mixed = new Map<number, { cosine: number; ownCosine: number }>();
  const parts = [
    { evidence: model, weight: share },
    ...(builtIn === null ? [] : [{ evidence: builtIn, weight: 1 - share }]),
  ];
  for (const { evidence, weight } of parts) {
    const cosineMax = evidence.neighbors.reduce((max, { cosine }) => Math.max(max, cosine), 0);
    for (const { doc, cosine, ownCosine } of evidence.neighbors) {
      const before = mixed.get(doc);
      const own = cosineMax > 0 ? (weight * evidence.coverage * Math.max(0, cosine)) / cosineMax : 0;
      mixed.set(doc, {
        cosine: (before?.cosine ?? 0) + own,
        ownCosine: Math.max(before?.ownCosine ?? 0, ownCosine / evidence.cosineMin),
      });
    }
  }
  return {
    neighbors: [...mixed]
      .map(([doc, cosines]) => ({ doc, ...cosines }))
      .sort((a, b) => b.cosine - a.cosine || a.doc - b.doc),
    coverage: parts.reduce((sum, { evidence, weight }) => sum + weight * evidence.coverage, 0),
    cosineMin: 1,
    weights: model.weights,
  };
}
