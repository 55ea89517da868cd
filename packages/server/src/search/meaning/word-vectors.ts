/** What every table of word vectors can do, and substitute vectors for words that a table does not have. */
import { createHash } from "node:crypto";
import { sectionOf, type Sections } from "../data/data-file.ts";

export interface WordVectors {
  /** Changes with any byte of the table. */
  readonly generation: string;
  readonly dims: number;
  /** Mean of the training documents, each a weighted sum of this table's vectors, scaled to unit length. */
  readonly mean: Float32Array;
  knows(term: string): boolean;
  /** Adds `weight` times the term's vector. A term that the table does not have gets a vector made from its letters. */
  addTerm(sum: Float32Array, term: string, weight: number): void;
}

export function hashSections(sections: Sections): string {
  const hash = createHash("sha256");
  for (const name of Object.keys(sections).sort()) hash.update(name).update(sectionOf(sections, name));
  return hash.digest("hex");
}

/** @param addKnown returns false for an unknown word. */
export function withHashedVectors(
  addKnown: (...args: Parameters<WordVectors["addTerm"]>) => boolean,
): WordVectors["addTerm"] {
  return (sum, term, weight) => {
    if (!addKnown(sum, term, weight)) addHashedVector(sum, term, weight);
  };
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
