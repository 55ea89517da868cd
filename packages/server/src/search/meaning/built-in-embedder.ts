/**
 * The built-in embedder. A text's vector is the weighted sum of its words' vectors: one sum for what words mean in
 * prompts, and one for what they mean elsewhere, concatenated so that a single product compares both. It needs no key,
 * no service, and no training. English only.
 */
import { createHash } from "node:crypto";
import type { Expansion } from "../text/expansion.ts";
import { loadOnce } from "../../platform/resilience/load-once.ts";
import { readDataFile } from "../data/data-file.ts";
import { decodeGeneralVectors } from "./general-vectors.ts";
import { decodeBaseVectors, type LearnedVectors } from "./lsa.ts";
import type { WordVectors } from "./word-vectors.ts";

export interface BuiltInEmbedder {
  /** Identifies the data: vectors of different embedders are never compared. */
  readonly embedder: string;
  readonly dims: number;
  /** Mean of the training documents' vectors, for catalogues too small to have their own. */
  readonly mean: Float32Array;
  readonly tables: readonly WeightedTable[];
  /** How rare the term is in the embedder's training data. */
  readonly idf: (term: string) => number;
}

interface WeightedTable extends WordVectors {
  /** Its share of a cosine; all shares add up to 1. */
  readonly share: number;
}

/** A query token in the form that the embedder needs. */
export interface QueryTerm {
  readonly term: string;
  /** False when no document of the catalogue has it. */
  readonly isInCatalogue: boolean;
  /** A guess in addition to the query's own words. It counts if the embedder knows it, and is not missed otherwise. */
  readonly isExtra?: boolean;
  /** 0 to 1; below 1 for a word that was corrected or may be unfinished. */
  readonly certainty: number;
  /** Its share of the query, 0 to 1; below 1 for context words. */
  readonly weight: number;
  readonly expansions: readonly Expansion[];
}

/** For the general table, 0.23, 0.33, and 0.44 help paraphrases equally, but 0.44 hurts misspelled words (2026-11). */
const SHARES = { learned: 2 / 3, general: 1 / 3 };
const EXPANSIONS_PER_TOKEN = 15;
/** If a table does not have a word, its expansions alone carry its meaning, so they weigh more. */
const EXPANSION_SHARE = { known: 1, unknown: 1.2 };

function createBuiltInEmbedder(learned: LearnedVectors, general: WordVectors): BuiltInEmbedder {
  const tables = [
    { ...learned, share: SHARES.learned },
    { ...general, share: SHARES.general },
  ];
  const generation = createHash("sha256");
  for (const table of tables) generation.update(`${table.generation} ${table.share}\n`);
  return {
    embedder: `builtin-${generation.digest("hex").slice(0, 16)}`,
    dims: tables.reduce((sum, { dims }) => sum + dims, 0),
    mean: concatenate(tables, ({ mean }) => mean),
    tables,
    idf: learned.idf,
  };
}

/** Loads the files one after the other, so that other work runs in between. */
export const loadBuiltInEmbedder: () => Promise<BuiltInEmbedder> = loadOnce(async () => {
  const learned = decodeBaseVectors(await readDataFile("base-vectors.bin.gz"));
  return createBuiltInEmbedder(learned, decodeGeneralVectors(await readDataFile("general-vectors.bin.gz")));
});

/**
 * Computes the document's vector, of unit length and with the mean not removed; null when no table knows any of its
 * words. Vectors made from letters share nothing with the mean. Removing the mean from a document of only such vectors
 * would leave the mean itself, and texts in other scripts would be close to whatever English words are far from it.
 */
export function foldDocument(
  { tables, idf }: BuiltInEmbedder,
  weights: ReadonlyMap<string, number>,
): Float32Array | null {
  return scaleToUnit(concatenate(tables, (table) => foldDocumentBy(table, weights, idf)));
}

/** Does the same with a single table. */
export function foldDocumentBy(
  table: WordVectors,
  weights: ReadonlyMap<string, number>,
  idf: (term: string) => number,
): Float32Array | null {
  if (![...weights.keys()].some((term) => table.knows(term))) return null;
  const sum = new Float32Array(table.dims);
  for (const [term, tf] of weights) table.addTerm(sum, term, (1 + Math.log(1 + tf)) * idf(term));
  return scaleToUnit(sum);
}

/**
 * Computes the query's vector, of unit length and with the mean not removed; null when nothing in it has a meaning
 * here. The expansions of a token together weigh as much as the token (measured better than their own idf, 2026-11). A
 * word that neither a table nor the catalogue has adds nothing, or nonsense would find neighbors.
 */
export function foldQuery({ tables, idf }: BuiltInEmbedder, terms: readonly QueryTerm[]): Float32Array | null {
  const fold = (table: WordVectors): Float32Array | null => {
    const sum = new Float32Array(table.dims);
    for (const query of terms) addQueryTerm(sum, query, table, query.weight * query.certainty * idf(query.term));
    return scaleToUnit(sum);
  };
  return scaleToUnit(concatenate(tables, fold));
}

function addQueryTerm(
  sum: Float32Array,
  { term, isInCatalogue, expansions }: QueryTerm,
  table: WordVectors,
  weight: number,
): void {
  const isKnown = table.knows(term);
  if (isKnown || isInCatalogue) table.addTerm(sum, term, weight);
  const related = expansions.filter((expansion) => table.knows(expansion.term)).slice(0, EXPANSIONS_PER_TOKEN);
  const total = related.reduce((added, expansion) => added + expansion.weight, 0);
  const share = isKnown ? EXPANSION_SHARE.known : EXPANSION_SHARE.unknown;
  for (const { term: other, weight: own } of related) table.addTerm(sum, other, (share * own * weight) / total);
}

/** Idf-weighted share, 0 to 1, of the query's terms that are certain and known to the tables. */
export function coverageOf({ tables, idf }: BuiltInEmbedder, terms: readonly QueryTerm[]): number {
  return tables.reduce((sum, table) => sum + table.share * coverageBy(table, terms, idf), 0);
}

function coverageBy(table: WordVectors, terms: readonly QueryTerm[], idf: (term: string) => number): number {
  let all = 0;
  let known = 0;
  for (const { term, certainty, weight, isExtra } of terms) {
    if (isExtra === true && !table.knows(term)) continue;
    all += weight * idf(term);
    if (table.knows(term)) known += weight * certainty * idf(term);
  }
  return all === 0 ? 0 : known / all;
}

/** Concatenates the tables' vectors, scaled so that products add up by the tables' shares; zeros for null. */
function concatenate(
  tables: readonly WeightedTable[],
  vectorOf: (table: WeightedTable) => Float32Array | null,
): Float32Array {
  const parts = tables.map((table) => {
    const length = Math.sqrt(table.share);
    return vectorOf(table)?.map((value) => length * value) ?? new Float32Array(table.dims);
  });
  const whole = new Float32Array(tables.reduce((sum, { dims }) => sum + dims, 0));
  let start = 0;
  for (const part of parts) {
    whole.set(part, start);
    start += part.length;
  }
  return whole;
}

export function scaleToUnit(vector: Float32Array): Float32Array | null {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (!(squares > 0)) return null;
  const scale = 1 / Math.sqrt(squares);
  return vector.map((value) => value * scale);
}
