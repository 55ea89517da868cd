/**
 * Word vectors learned from the seed catalogue by latent semantic analysis, one for each stem of its texts. They know
 * what words mean in prompts.
 */
import { bytesOf, numbersOf, type Sections } from "../data/data-file.ts";
import { decodeWordList, encodeWordList } from "../data/word-list.ts";
import { hashSections, withHashedVectors, type WordVectors } from "./word-vectors.ts";

export interface TermVectors {
  /** In code-unit order. */
  readonly terms: readonly string[];
  readonly idf: ArrayLike<number>;
  /** Vectors of unit length, in the order of `terms`. */
  readonly vectors: readonly ArrayLike<number>[];
  /** Mean of the folded training documents. */
  readonly mean: ArrayLike<number>;
  readonly documentCount: number;
}

export interface LearnedVectors extends WordVectors {
  /** Inverse document frequency in the training set; a term outside it gets the frequency of the rarest term. */
  readonly idf: (term: string) => number;
}

const INT8_MAX = 127;
const UNTRAINED_DF = 0.5;

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

export function decodeBaseVectors(sections: Sections): LearnedVectors {
  const list = decodeWordList("terms", sections);
  // Called a hundred times per query; a map of these few thousand words costs a megabyte.
  const rowOf = new Map(Array.from({ length: list.length }, (_, row) => [list.at(row), row]));
  const trainedIdf = numbersOf(sections, "idf", Float32Array);
  const scales = numbersOf(sections, "scales", Float32Array);
  const rows = numbersOf(sections, "rows", Int8Array);
  const mean = numbersOf(sections, "mean", Float32Array);
  const [documentCount = 0] = numbersOf(sections, "documentCount", Uint32Array);
  const dims = mean.length;
  const untrainedIdf = Math.log(1 + documentCount / (1 + UNTRAINED_DF));

  return {
    generation: hashSections(sections),
    dims,
    mean,
    knows: (term) => rowOf.has(term),
    idf: (term) => trainedIdf[rowOf.get(term) ?? -1] ?? untrainedIdf,
    addTerm: withHashedVectors((sum, term, weight) => {
      const row = rowOf.get(term);
      if (row === undefined) return false;
      const factor = weight * (scales[row] as number);
      const start = row * dims;
      for (let k = 0; k < dims; k += 1) sum[k] = (sum[k] as number) + factor * (rows[start + k] as number);
      return true;
    }),
  };
}
