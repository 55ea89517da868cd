/** The vectors of common English words, as stored in a file and as used by search. */
import { bytesOf, numbersOf, sectionOf } from "../../packages/server/src/search/data/data-file.ts";
import type { Sections } from "../../packages/server/src/search/data/data-file.ts";
import { stemEnglish } from "../../packages/server/src/search/text/analyser.ts";
import { decompose, dot } from "./svd.ts";

export interface Word {
  readonly text: string;
  readonly vector: ArrayLike<number>;
}

const INT8_MAX = 127;
/**
 * The strongest directions only say how common a word is and in which kind of text it appears. Without five of them,
 * GloVe averages found paraphrases better (.12 -> .21 alone); removing ten or twenty was no better (2026-11).
 */
const COMMON_DIRECTIONS = 5;
const SVD = { rank: COMMON_DIRECTIONS, oversampling: 20, powerIterations: 10, seed: 20261122 };
/** A word's frequency is about 1 / rank; the offset gives the very first words similar weights. */
const RANK_OFFSET = 10;

/** `words` has the most common words first. */
export function encodeWords(words: readonly Word[]): Sections {
  const dims = words[0]?.vector.length ?? 0;
  const rows = new Int8Array(words.length * dims);
  const scales = new Float32Array(words.length);
  for (const [i, { vector }] of words.entries()) {
    const largest = Array.from(vector).reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    scales[i] = largest / INT8_MAX;
    for (let k = 0; k < dims; k += 1) rows[i * dims + k] = Math.round(((vector[k] as number) / largest) * INT8_MAX);
  }
  const text = words.map((word) => word.text).join("\n");
  return { text: Buffer.from(text), scales: bytesOf(scales), rows: bytesOf(rows) };
}

export function readWords(sections: Sections): Word[] {
  const scales = numbersOf(sections, "scales", Float32Array);
  const rows = numbersOf(sections, "rows", Int8Array);
  const dims = rows.length / scales.length;
  const texts = Buffer.from(sectionOf(sections, "text")).toString("utf8").split("\n");
  return texts.map((text, i) => {
    const row = rows.subarray(i * dims, (i + 1) * dims);
    const vector = new Float64Array(dims);
    for (let k = 0; k < dims; k += 1) vector[k] = (row[k] as number) * (scales[i] as number);
    return { text, vector };
  });
}

/** One vector per stem, in code-unit order: its words weighted by frequency, minus what all words have in common. */
export function deriveGeneralVectors(words: readonly Word[]): { terms: string[]; vectors: Float64Array[] } {
  const centered = center(words.map(({ vector }) => vector));
  const directions = commonDirections(centered);
  const sums = new Map<string, Float64Array>();
  for (const [rank, { text }] of words.entries()) {
    const vector = withoutDirections(centered[rank] as Float64Array, directions);
    const term = stemEnglish(text);
    const sum = sums.get(term) ?? new Float64Array(vector.length);
    for (let k = 0; k < sum.length; k += 1) sum[k] = (sum[k] as number) + (vector[k] as number) / (rank + RANK_OFFSET);
    sums.set(term, sum);
  }
  const terms = [...sums.keys()].sort();
  return { terms, vectors: terms.map((term) => sums.get(term) ?? new Float64Array()) };
}

function center(vectors: readonly ArrayLike<number>[]): Float64Array[] {
  const mean = new Float64Array(vectors[0]?.length ?? 0);
  for (const vector of vectors) {
    for (let k = 0; k < mean.length; k += 1) mean[k] = (mean[k] as number) + (vector[k] as number) / vectors.length;
  }
  return vectors.map((vector) => {
    const centered = new Float64Array(mean.length);
    for (let k = 0; k < mean.length; k += 1) centered[k] = (vector[k] as number) - (mean[k] as number);
    return centered;
  });
}

/** The first principal directions of the vectors, each scaled to unit length. */
function commonDirections(vectors: readonly Float64Array[]): readonly Float64Array[] {
  const dims = vectors[0]?.length ?? 0;
  const products = new Float64Array(dims * dims);
  for (const vector of vectors) {
    const squares = dot(vector, vector);
    for (let i = 0; i < dims; i += 1) {
      const factor = (vector[i] as number) / squares;
      for (let k = 0; k < dims; k += 1) {
        products[i * dims + k] = (products[i * dims + k] as number) + factor * (vector[k] as number);
      }
    }
  }
  const starts = Uint32Array.from({ length: dims + 1 }, (_, i) => i * dims);
  const columns = Uint32Array.from(products, (_, i) => i % dims);
  return decompose({ rowCount: dims, columnCount: dims, starts, columns, values: products }, SVD).left;
}

function withoutDirections(vector: Float64Array, directions: readonly Float64Array[]): Float64Array {
  const rest = Float64Array.from(vector);
  for (const direction of directions) {
    const along = dot(direction, vector);
    for (let k = 0; k < rest.length; k += 1) rest[k] = (rest[k] as number) - along * (direction[k] as number);
  }
  return rest;
}
