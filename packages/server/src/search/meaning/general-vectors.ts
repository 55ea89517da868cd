/**
 * Word vectors of general English, derived from GloVe: what words mean outside prompts, including brands, films, and
 * products. Four bits per number, read in place.
 */
import { bytesOf, numbersOf, sectionOf, type Sections } from "../data/data-file.ts";
import { decodeWordList, encodeWordList } from "../data/word-list.ts";
import { hashSections, withHashedVectors, type WordVectors } from "./word-vectors.ts";

export interface GeneralVectors {
  /** In code-unit order. */
  readonly terms: readonly string[];
  /** Vectors of any length above 0 with an even count of numbers, in the order of `terms`. */
  readonly vectors: readonly ArrayLike<number>[];
  readonly mean: ArrayLike<number>;
}

/**
 * A number is stored in half a byte as -7 to 7 sevenths of its vector's largest, plus 8; the first in the lower half.
 */
const LEVELS = 7;
const ZERO = 8;
const HALF_BYTE = 4;
const LOWER_HALF = 0xf;

export function encodeGeneralVectors({ terms, vectors, mean }: GeneralVectors): Sections {
  const rowBytes = mean.length / 2;
  const rows = new Uint8Array(terms.length * rowBytes);
  for (const [i, vector] of vectors.entries()) {
    let largest = 0;
    for (let k = 0; k < mean.length; k += 1) largest = Math.max(largest, Math.abs(vector[k] as number));
    const level = (k: number) => Math.round(((vector[k] as number) / largest) * LEVELS) + ZERO;
    for (let k = 0; k < rowBytes; k += 1) rows[i * rowBytes + k] = level(2 * k) | (level(2 * k + 1) << HALF_BYTE);
  }
  return { ...encodeWordList("terms", terms), rows, mean: bytesOf(Float32Array.from(mean)) };
}

export function decodeGeneralVectors(sections: Sections): WordVectors {
  const terms = decodeWordList("terms", sections);
  const rows = sectionOf(sections, "rows");
  const mean = numbersOf(sections, "mean", Float32Array);
  const dims = mean.length;
  const level = (row: number, k: number) => {
    const pair = rows[(row * dims + k) >>> 1] as number;
    return (k % 2 === 0 ? pair & LOWER_HALF : pair >>> HALF_BYTE) - ZERO;
  };
  function addKnown(sum: Float32Array, term: string, weight: number): boolean {
    const row = terms.find(term);
    if (row < 0) return false;
    let squares = 0;
    for (let k = 0; k < dims; k += 1) squares += level(row, k) ** 2;
    const factor = weight / Math.sqrt(squares);
    for (let k = 0; k < dims; k += 1) sum[k] = (sum[k] as number) + factor * level(row, k);
    return true;
  }
  return {
    generation: hashSections(sections),
    dims,
    mean,
    knows: (term) => terms.find(term) >= 0,
    addTerm: withHashedVectors(addKnown),
  };
}
