/** Latent semantic analysis of the training prompts: words that appear in similar texts get similar vectors. */
import { contentTokens } from "../../packages/server/src/search/text/analyser.ts";
import { weighFields } from "../../packages/server/src/search/indexing/document-terms.ts";
import { decompose } from "./svd.ts";
import type { SparseMatrix } from "./svd.ts";

export interface TrainingPrompt {
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly text: string;
}

export interface TrainedVectors {
  /** In code-unit order. */
  readonly terms: readonly string[];
  readonly idf: Float64Array;
  /** Unit length, in the order of `terms`. */
  readonly vectors: readonly Float64Array[];
}

const BODY_TOKENS_MAX = 400;
const BODY_WEIGHT = 0.4;
const DOCUMENTS_PER_TERM_MIN = 2;
/** 1 would give every term the same weight; 0.75 measured best (2026-11). */
const ROW_NORM_POWER = 0.75;
const SVD = { rank: 300, oversampling: 20, powerIterations: 3, seed: 20261120 };

export function trainVectors(prompts: readonly TrainingPrompt[]): TrainedVectors {
  const documents = prompts.map(weighPrompt);
  const df = countDocuments(documents);
  const terms = [...df.keys()].filter((term) => (df.get(term) ?? 0) >= DOCUMENTS_PER_TERM_MIN).sort();
  const idf = Float64Array.from(terms, (term) => Math.log(1 + prompts.length / (1 + (df.get(term) ?? 0))));
  const { left, singular } = decompose(buildMatrix(documents, terms, idf), SVD);
  const roots = singular.map(Math.sqrt);
  const vectors = terms.map((_, row) => {
    const vector = Float64Array.from(left, (column, k) => (column[row] as number) * (roots[k] as number));
    const norm = Math.sqrt(vector.reduce((total, value) => total + value * value, 0));
    return vector.map((value) => value / norm);
  });
  return { terms, idf, vectors };
}

function weighPrompt(prompt: TrainingPrompt): Map<string, number> {
  const weights = weighFields({ ...prompt, inputNames: [] });
  const counts = new Map<string, number>();
  for (const { term } of contentTokens(prompt.text).slice(0, BODY_TOKENS_MAX)) {
    counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  for (const [term, count] of counts) {
    weights.set(term, (weights.get(term) ?? 0) + BODY_WEIGHT * (1 + Math.log(count)));
  }
  return weights;
}

function countDocuments(documents: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const df = new Map<string, number>();
  for (const document of documents) for (const term of document.keys()) df.set(term, (df.get(term) ?? 0) + 1);
  return df;
}

function buildMatrix(documents: readonly Map<string, number>[], terms: readonly string[], idf: Float64Array) {
  const rowOf = new Map(terms.map((term, row) => [term, row]));
  const rows: { column: number; value: number }[][] = terms.map(() => []);
  for (const [column, document] of documents.entries()) {
    const cells = [...document]
      .map(([term, tf]) => ({ row: rowOf.get(term) ?? -1, value: 1 + Math.log(1 + tf) }))
      .filter(({ row }) => row >= 0)
      .map(({ row, value }) => ({ row, value: value * (idf[row] as number) }));
    const norm = Math.sqrt(cells.reduce((total, { value }) => total + value * value, 0));
    for (const { row, value } of cells) rows[row]?.push({ column, value: value / norm });
  }
  for (const row of rows) {
    const scale = Math.sqrt(row.reduce((total, { value }) => total + value * value, 0)) ** ROW_NORM_POWER;
    for (const cell of row) cell.value /= scale;
  }
  return compress(rows, documents.length);
}

function compress(rows: readonly { column: number; value: number }[][], columnCount: number): SparseMatrix {
  const cells = rows.flat();
  const starts = new Uint32Array(rows.length + 1);
  for (const [i, row] of rows.entries()) starts[i + 1] = (starts[i] as number) + row.length;
  const columns = Uint32Array.from(cells, (cell) => cell.column);
  const values = Float64Array.from(cells, (cell) => cell.value);
  return { rowCount: rows.length, columnCount, starts, columns, values };
}
