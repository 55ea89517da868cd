import { beforeAll, expect, test } from "vitest";
import {
  coverageOf,
  foldDocument,
  foldQuery,
  loadBuiltInEmbedder,
  type BuiltInEmbedder,
  type QueryTerm,
} from "./built-in-embedder.ts";

let base: BuiltInEmbedder;
beforeAll(async () => {
  base = await loadBuiltInEmbedder();
});

const termOf = (term: string, more: Partial<QueryTerm> = {}): QueryTerm => ({
  term,
  isInCatalogue: true,
  certainty: 1,
  weight: 1,
  expansions: [],
  ...more,
});
const weigh = (...terms: string[]) => new Map(terms.map((term) => [term, 3]));
function cosine(a: Float32Array | null, b: Float32Array | null): number {
  if (a === null || b === null) throw new Error("no vector");
  return a.reduce((sum, value, k) => sum + (value - (base.mean[k] ?? 0)) * ((b[k] ?? 0) - (base.mean[k] ?? 0)), 0);
}

test("texts about one subject are closer than texts about two, even without a common word", () => {
  const cooking = foldDocument(base, weigh("recip", "kitchen"));
  const query = foldQuery(base, [termOf("cook"), termOf("chef")]);
  const other = foldDocument(base, weigh("sql", "databas"));
  expect(cosine(query, cooking)).toBeGreaterThan(cosine(query, other) + 0.1);
});

test("a word that no training prompt has gets its general meaning", () => {
  const [learned] = base.tables;
  for (const term of ["trombon", "saxophon"]) expect(learned?.knows(term)).toBe(false);
  const query = foldQuery(base, [termOf("trombon", { isInCatalogue: false })]);
  const brass = cosine(query, foldDocument(base, weigh("saxophon", "music")));
  expect(brass).toBeGreaterThan(cosine(query, foldDocument(base, weigh("sql", "databas"))) + 0.1);
});

test("a document has a meaning only if it has a known term", () => {
  expect(foldDocument(base, weigh("日本", "本語", "俳句"))).toBeNull();
  expect(foldDocument(base, weigh("日本", "recip"))).not.toBeNull();
});

test("a guess outside the training data does not reduce the coverage of the query", () => {
  const extra = termOf("zorbicate", { isExtra: true });
  expect(coverageOf(base, [termOf("recip"), extra])).toBe(1);
  expect(coverageOf(base, [extra])).toBe(0);
});

test("every vector has unit length", () => {
  for (const vector of [foldDocument(base, weigh("recip")), foldQuery(base, [termOf("zzqqx")])]) {
    expect(Math.hypot(...(vector ?? []))).toBeCloseTo(1, 4);
  }
});

test("a word outside the training data still finds the documents that have it", () => {
  const query = foldQuery(base, [termOf("zorbicate")]);
  expect(cosine(query, foldDocument(base, weigh("zorbicate", "recip")))).toBeGreaterThan(
    cosine(query, foldDocument(base, weigh("glimfrob", "recip"))) + 0.2,
  );
});

test("a word in neither the training data nor the catalogue means nothing", () => {
  expect(foldQuery(base, [termOf("asdfqwer", { isInCatalogue: false })])).toBeNull();
});

test("expansions carry the meaning of a word the embedder does not know", () => {
  const query = foldQuery(base, [
    termOf("zorbicate", { isInCatalogue: false, expansions: [{ term: "recip", weight: 0.8 }] }),
  ]);
  expect(cosine(query, foldDocument(base, weigh("recip")))).toBeGreaterThan(0.5);
});

test("coverage is the share of the query that is in the training data, by weight", () => {
  expect(coverageOf(base, [termOf("recip"), termOf("cook")])).toBe(1);
  expect(coverageOf(base, [termOf("zorbicate")])).toBe(0);
  const half = coverageOf(base, [termOf("recip"), termOf("zorbicate")]);
  expect(half).toBeGreaterThan(0);
  expect(half).toBeLessThan(0.5); // an unknown word is rarer, so it weighs more
  expect(coverageOf(base, [])).toBe(0);
});

test("the embedder's name identifies its data", () => {
  expect(base.embedder).toMatch(/^builtin-[0-9a-f]{16}$/);
  expect(base.dims).toBe(400);
});
