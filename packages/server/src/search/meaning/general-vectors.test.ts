import { expect, test } from "vitest";
import { decodeGeneralVectors, encodeGeneralVectors } from "./general-vectors.ts";

const vectors = [
  [1, 0, -0.5, 0.25],
  [-3, 3, 3, -3],
  [0.01, 0.02, 0, -0.07],
];
/** Copied, like a file's sections, since a table must not depend on the arrays it was made from. */
function encode(terms: readonly string[]) {
  const sections = encodeGeneralVectors({ terms, vectors: vectors.slice(0, terms.length), mean: [0, 0, 0, 0] });
  return Object.fromEntries(Object.entries(sections).map(([name, bytes]) => [name, Uint8Array.from(bytes)]));
}
const table = decodeGeneralVectors(encode(["cello", "piano", "viola"]));

function vectorOf(term: string, weight = 1): number[] {
  const sum = new Float32Array(table.dims);
  table.addTerm(sum, term, weight);
  return [...sum];
}

test("a decoded vector has unit length and its original direction, apart from rounding to four bits", () => {
  for (const [i, term] of ["cello", "piano", "viola"].entries()) {
    const found = vectorOf(term);
    const wanted = vectors[i] ?? [];
    const cosine = found.reduce((sum, value, k) => sum + (value * (wanted[k] ?? 0)) / Math.hypot(...wanted), 0);
    expect(Math.hypot(...found)).toBeCloseTo(1, 5);
    expect(cosine).toBeGreaterThan(0.99);
  }
});

test("a word that is not in the table has its own vector, which is always the same", () => {
  expect(table.knows("viola")).toBe(true);
  expect(table.knows("tuba")).toBe(false);
  expect(vectorOf("tuba")).toEqual(vectorOf("tuba"));
  expect(Math.hypot(...vectorOf("tuba", 2))).toBeCloseTo(2, 5);
});

test("any changed byte makes another generation", () => {
  expect(decodeGeneralVectors(encode(["cello", "piano"])).generation).not.toBe(table.generation);
  expect(decodeGeneralVectors(encode(["cello", "piano", "viola"])).generation).toBe(table.generation);
});
