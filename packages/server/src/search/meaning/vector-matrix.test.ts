import * as fc from "fast-check";
import { expect, test } from "vitest";
import { scaleToUnit } from "./built-in-embedder.ts";
import { VectorMatrix } from "./vector-matrix.ts";

const DIMS = 6;
const unit = (...values: number[]) => scaleToUnit(Float32Array.from(values)) ?? new Float32Array(values.length);
const vectors = fc
  .array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: DIMS, maxLength: DIMS })
  .filter((values) => values.some((value) => Math.abs(value) > 0.1))
  .map((values) => unit(...values));

function cosineLess(mean: Float32Array, a: Float32Array, b: Float32Array): number {
  const [x, y] = [a, b].map((v) => unit(...v.map((value, k) => value - (mean[k] ?? 0))));
  return (x ?? a).reduce((sum, value, k) => sum + value * (y?.[k] ?? 0), 0);
}

test("finds exactly the same as comparing each vector directly", async () => {
  const mean = Float32Array.of(0.2, 0.1, 0, 0, -0.1, 0.05);
  await fc.assert(
    fc.asyncProperty(fc.array(vectors, { minLength: 1, maxLength: 30 }), vectors, async (rows, query) => {
      const matrix = new VectorMatrix({ dims: DIMS, shippedMean: mean });
      for (const [i, row] of rows.entries()) matrix.set(i + 1, row);
      const byHand = rows.map((row) => cosineLess(mean, row, query)).sort((a, b) => b - a);
      const found = await matrix.findNearest(query, 5);
      for (const [i, { cosine }] of found.entries()) expect(cosine).toBeCloseTo(byHand[i] ?? 0, 4);
      expect(found).toHaveLength(Math.min(5, rows.length));
    }),
  );
});

test("from 200 documents on, their own mean is removed, and recomputed after a tenth more", async () => {
  const matrix = new VectorMatrix({ dims: 2, shippedMean: null });
  for (let i = 1; i <= 200; i += 1) matrix.set(i, unit(1, i / 1_000));
  const [before] = await matrix.findNearest(unit(1, 0.2), 1);
  await matrix.settle();
  const [after] = await matrix.findNearest(unit(1, 0.2), 1);
  expect(before?.doc).toBe(200);
  expect(after?.doc).toBe(200);
  const [, far] = [before, (await matrix.findNearest(unit(1, 0.2), 200)).at(-1)];
  expect(far?.cosine).toBeLessThan(0); // without the mean's removal all of these point the same way
});

/** Vectors about subjects, one number each; a model may add the same number to all. */
function spread(count: number, common: number): (subject: number) => Float32Array {
  return (subject) => unit(common, ...Array.from({ length: count + 1 }, (_, k) => (k === subject ? 1 : 0)));
}

test.each([4, 11, 50, 199])(
  "among %s documents, what a model adds to every text brings none of them closer",
  async (n) => {
    const vectorOf = spread(n, 2.5);
    const matrix = new VectorMatrix({ dims: n + 2, shippedMean: null });
    for (let i = 0; i < n; i += 1) matrix.set(i + 1, vectorOf(i));
    const [before] = await matrix.findNearest(vectorOf(n), 1);
    expect(before?.cosine).toBeGreaterThan(0.8);
    await matrix.settle();
    const [unrelated] = await matrix.findNearest(vectorOf(n), 1);
    expect(unrelated?.cosine).toBeLessThan(0.3);
    const [own, next] = await matrix.findNearest(vectorOf(2), 2);
    expect(own?.doc).toBe(3);
    expect(own?.cosine).toBeGreaterThan(0.8);
    expect(next?.cosine).toBeLessThan(0.3);
  },
);

test.each([1, 2, 11, 50])("among %s documents with well-spread vectors, every angle stays the same", async (n) => {
  const vectorOf = spread(n, 0);
  const matrix = new VectorMatrix({ dims: n + 2, shippedMean: null });
  for (let i = 0; i < n; i += 1) matrix.set(i + 1, vectorOf(i));
  const before = await matrix.findNearest(unit(0, 3, 1), n);
  await matrix.settle();
  for (const [i, { doc, cosine }] of (await matrix.findNearest(unit(0, 3, 1), n)).entries()) {
    expect(doc).toBe(before[i]?.doc);
    expect(cosine).toBeCloseTo(before[i]?.cosine ?? 0, 5);
  }
});

test("a document without meaning is near nothing", async () => {
  const matrix = new VectorMatrix({ dims: 2, shippedMean: unit(1, 1) });
  matrix.set(1, Float32Array.of(0, 0));
  expect(await matrix.findNearest(unit(-1, -1), 5)).toEqual([]);
  expect(matrix.size).toBe(0);
});

test("a replaced or deleted vector is no longer found, even after packing", async () => {
  const matrix = new VectorMatrix({ dims: 2, shippedMean: null });
  for (let i = 1; i <= 600; i += 1) matrix.set(i, unit(1, 0));
  matrix.set(7, unit(0, 1));
  for (let i = 100; i <= 600; i += 1) matrix.delete(i);
  await matrix.settle();
  expect(matrix.size).toBe(99);
  const found = await matrix.findNearest(unit(0, 1), 600);
  expect(found[0]?.doc).toBe(7);
  expect(found.every(({ doc }) => doc < 100)).toBe(true);
  expect(found).toHaveLength(99);
});

test("a vector of another length is rejected", () => {
  const matrix = new VectorMatrix({ dims: 3, shippedMean: null });
  expect(() => matrix.set(1, unit(1, 0))).toThrow(RangeError);
});

test("a long scan lets other work run in between", async () => {
  const dims = 300;
  const matrix = new VectorMatrix({ dims, shippedMean: null });
  const row = unit(...Array.from({ length: dims }, (_, k) => k));
  for (let i = 1; i <= 12_000; i += 1) matrix.set(i, row);
  let yields = 0;
  const count = () => {
    yields += 1;
    handle = setImmediate(count);
  };
  let handle = setImmediate(count);
  await matrix.findNearest(row, 10);
  clearImmediate(handle);
  expect(yields).toBeGreaterThan(0);
});

test("recomputing the mean blocks nothing, and scans meanwhile are correct", async () => {
  const dims = 300;
  const matrix = new VectorMatrix({ dims, shippedMean: null });
  const rowOf = (i: number) => unit(...Array.from({ length: dims }, (_, k) => Math.sin(i * k) + 1));
  for (let i = 1; i <= 4_000; i += 1) matrix.set(i, rowOf(i));
  const isSettled = matrix.settle().then(() => true);
  let scans = 0;
  while (!(await Promise.race([isSettled, new Promise<false>((resolve) => setImmediate(() => resolve(false)))]))) {
    const [nearest] = await matrix.findNearest(rowOf(7), 1);
    expect(nearest).toMatchObject({ doc: 7, cosine: expect.closeTo(1, 4) as number });
    scans += 1;
  }
  expect(scans).toBeGreaterThan(0);
  for (let i = 4_001; i <= 8_000; i += 1) matrix.set(i, rowOf(i));
  let yields = 0;
  const count = () => {
    yields += 1;
    handle = setImmediate(count);
  };
  let handle = setImmediate(count);
  await matrix.settle();
  clearImmediate(handle);
  expect(yields).toBeGreaterThanOrEqual(8); // one after each thousand rows: nothing else lets the event loop turn here
});

test("rows that are added or deleted while the matrix is packed are there, or gone, afterwards", async () => {
  const matrix = new VectorMatrix({ dims: 2, shippedMean: null });
  for (let i = 1; i <= 1_000; i += 1) matrix.set(i, unit(1, 0));
  for (let i = 400; i <= 1_000; i += 1) matrix.delete(i);
  const settling = matrix.settle();
  for (let i = 2_000; i < 3_500; i += 1) matrix.set(i, unit(0, 1));
  for (let i = 1; i <= 100; i += 1) matrix.delete(i);
  await settling;
  expect(matrix.size).toBe(399 - 100 + 1_500);
  const found = await matrix.findNearest(unit(0, 1), 5_000);
  expect(found).toHaveLength(matrix.size);
  expect(found.slice(0, 1_500).every(({ doc }) => doc >= 2_000)).toBe(true);
  expect(found.slice(1_500).every(({ doc }) => doc > 100 && doc < 400)).toBe(true);
});
