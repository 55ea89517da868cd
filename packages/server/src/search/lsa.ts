/**
 * The built-in embedder: one vector per stem, learnt from the seed catalogue by latent semantic analysis; texts are
 * weighted sums of them. It needs no key, no service and no training here. English only.
 */
import { createHash } from "node:crypto";
import type { Expansion } from "./expansion.ts";
import { bytesOf, sectionOf } from "./data-file.ts";
import type { Sections } from "./data-file.ts";
import { decodeWordList, encodeWordList } from "./word-list.ts";

export interface TermVectors {
  /** In code-unit order. */
  readonly terms: readonly string[];
  readonly idf: ArrayLike<number>;
  /** Unit length, in the order of `terms`. */
  readonly vectors: readonly ArrayLike<number>[];
  /** Mean of the folded training documents. */
  readonly mean: ArrayLike<number>;
  readonly documentCount: number;
}

export interface BaseVectors {
  /** Names the generation of the data: vectors of two embedders are never compared. */
  readonly embedder: string;
  readonly dims: number;
  /** Mean of the training documents' vectors, for catalogues too small to have a mean of their own. */
  readonly mean: Float32Array;
  isTrained(term: string): boolean;
  /** Inverse document frequency in the training set. */
  idf(term: string): number;
  /** Adds `weight` times the term's vector; a term outside the training set has a vector made from its letters. */
  addTerm(sum: Float32Array, term: string, weight: number): void;
}

/** A query token as the embedder wants it. */
export interface QueryTerm {
  readonly term: string;
  /** False when no document of the catalogue has it. */
  readonly isInCatalogue: boolean;
  /** A guess beside the query's own words: it counts where the embedder was trained on it, and is missed nowhere. */
  readonly isExtra?: boolean;
  /** 0 to 1; below 1 for a word that was corrected or may be unfinished. */
  readonly certainty: number;
  readonly expansions: readonly Expansion[];
}

const INT8_MAX = 127;
const UNTRAINED_DF = 0.5;
const EXPANSIONS_PER_TOKEN = 15;
/** Expansions of a word nobody trained must carry its meaning alone, so they weigh more. */
const EXPANSION_SHARE = { trained: 1, untrained: 1.2 };

export function encodeBaseVectors({ terms, idf, vectors, mean, documentCount }: TermVectors): Sections {
  const dims = mean.length;
  const rows = new Int8Array(terms.length * dims);
  const scales = new Float32Array(terms.length);
  for (const [i, vector] of vectors.entries()) {
    const largest = Array.from(vector).reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    scales[i] = largest / INT8_MAX;
    for (let k = 0; k < dims; k += 1) rows[i * dims + k] = Math.round(((vector[k] as number) / largest) * INT8_MAX);
  }
  return {
    ...encodeWordList("terms", terms),
    idf: bytesOf(Float32Array.from(idf)),
    scales: bytesOf(scales),
    rows: bytesOf(rows),
    mean: bytesOf(Float32Array.from(mean)),
    documentCount: bytesOf(Uint32Array.of(documentCount)),
  };
}

export function decodeBaseVectors(sections: Sections): BaseVectors {
  const list = decodeWordList("terms", sections);
  // Asked a hundred times per query; a map of these few thousand words costs a megabyte.
  const rowOf = new Map(Array.from({ length: list.length }, (_, row) => [list.at(row), row]));
  const trainedIdf = new Float32Array(sectionOf(sections, "idf").buffer);
  const scales = new Float32Array(sectionOf(sections, "scales").buffer);
  const rows = new Int8Array(sectionOf(sections, "rows").buffer);
  const mean = new Float32Array(sectionOf(sections, "mean").buffer);
  const [documentCount = 0] = new Uint32Array(sectionOf(sections, "documentCount").buffer);
  const dims = mean.length;
  const untrainedIdf = Math.log(1 + documentCount / (1 + UNTRAINED_DF));
  const generation = createHash("sha256");
  for (const name of Object.keys(sections).sort()) generation.update(name).update(sectionOf(sections, name));

  return {
    embedder: `lsa-${generation.digest("hex").slice(0, 16)}`,
    dims,
    mean,
    isTrained: (term) => rowOf.has(term),
    idf: (term) => trainedIdf[rowOf.get(term) ?? -1] ?? untrainedIdf,
    addTerm: (sum, term, weight) => {
      const row = rowOf.get(term);
      if (row === undefined) return addHashedVector(sum, term, weight);
      const factor = weight * (scales[row] as number);
      const start = row * dims;
      for (let k = 0; k < dims; k += 1) sum[k] = (sum[k] as number) + factor * (rows[start + k] as number);
    },
  };
}

/**
 * The document's vector, unit length, the mean not removed; null when it has no trained term. Vectors made from letters
 * share nothing with the mean, so taking it out of a document of nothing else would leave the mean itself, and texts
 * of another script would be near to whatever English words are far from it.
 */
export function foldDocument(base: BaseVectors, weights: ReadonlyMap<string, number>): Float32Array | null {
  if (![...weights.keys()].some((term) => base.isTrained(term))) return null;
  const sum = new Float32Array(base.dims);
  for (const [term, tf] of weights) base.addTerm(sum, term, (1 + Math.log(1 + tf)) * base.idf(term));
  return scaleToUnit(sum);
}

/**
 * The query's vector, unit length, the mean not removed; null when nothing in it has a meaning here. The expansions
 * of a token together weigh as much as the token (measured better than by their own idf, 2026-11). A word that
 * neither the training set nor the catalogue has adds nothing, or nonsense would find neighbours.
 */
export function foldQuery(base: BaseVectors, terms: readonly QueryTerm[]): Float32Array | null {
  const sum = new Float32Array(base.dims);
  for (const { term, isInCatalogue, certainty, expansions } of terms) {
    const isTrained = base.isTrained(term);
    const idf = certainty * base.idf(term);
    if (isTrained || isInCatalogue) base.addTerm(sum, term, idf);
    const related = expansions.filter((expansion) => base.isTrained(expansion.term)).slice(0, EXPANSIONS_PER_TOKEN);
    const total = related.reduce((added, { weight }) => added + weight, 0);
    const share = isTrained ? EXPANSION_SHARE.trained : EXPANSION_SHARE.untrained;
    for (const { term: other, weight } of related) base.addTerm(sum, other, (share * weight * idf) / total);
  }
  return scaleToUnit(sum);
}

/** Idf-weighted share of the query's terms that are certain and that the embedder was trained on, 0 to 1. */
export function coverageOf(base: BaseVectors, terms: readonly QueryTerm[]): number {
  let all = 0;
  let trained = 0;
  for (const { term, certainty, isExtra } of terms) {
    if (isExtra === true && !base.isTrained(term)) continue;
    all += base.idf(term);
    if (base.isTrained(term)) trained += certainty * base.idf(term);
  }
  return all === 0 ? 0 : trained / all;
}

export function scaleToUnit(vector: Float32Array): Float32Array | null {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (!(squares > 0)) return null;
  const scale = 1 / Math.sqrt(squares);
  return vector.map((value) => value * scale);
}

/** Plus or minus one by 32-bit hash bits: any two terms are nearly orthogonal, and the same term is always the same. */
function addHashedVector(sum: Float32Array, term: string, weight: number): void {
  const value = weight / Math.sqrt(sum.length);
  let state = hashOf(term);
  for (let k = 0; k < sum.length; k += 1) {
    state = (state + 0x9e3779b9) >>> 0;
    let bits = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
    sum[k] = (sum[k] as number) + ((bits ^ (bits >>> 16)) & 1 ? value : -value);
  }
}

/** FNV-1a over code units. */
function hashOf(term: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < term.length; i += 1) hash = Math.imul(hash ^ term.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
