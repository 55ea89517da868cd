import { expect, test } from "vitest";
import { VectorMatrix } from "../meaning/vector-matrix.ts";
import { createEmbeddingWeight, measureAgreement, weightFor } from "./embedding-weight.ts";
import { eventually } from "../../../test/support/eventually.ts";

const DIMS = 16;

/** Random vectors, always the same for a seed. */
async function matrixOf(count: number, seed: number): Promise<VectorMatrix> {
  let state = seed;
  const draw = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
  const matrix = new VectorMatrix({ dims: DIMS, shippedMean: null });
  for (let doc = 1; doc <= count; doc += 1) {
    const vector = Float32Array.from({ length: DIMS }, draw);
    const length = Math.hypot(...vector);
    matrix.set(
      doc,
      vector.map((value) => value / length),
    );
  }
  await matrix.settle();
  return matrix;
}

test("a model that finds the same nearest prompts agrees fully, and a random one hardly agrees", async () => {
  const [a, b] = [await matrixOf(300, 1), await matrixOf(300, 2)];
  expect(await measureAgreement(a, a)).toBe(1);
  expect(await measureAgreement(a, b)).toBeLessThan(0.1);
});

test("the share grows with the agreement, from three tenths to half", () => {
  expect([0, 0.2, 0.325, 0.45, 1].map((agreement) => Math.round(weightFor(agreement) * 100))).toEqual([
    30, 30, 40, 50, 50,
  ]);
});

test("until the agreement is known, or with few prompts, the model gets the minimum share", async () => {
  const share = createEmbeddingWeight();
  const [many, few] = [await matrixOf(300, 1), await matrixOf(100, 1)];
  expect(share(many, many)).toBe(0.3);
  await eventually(() => expect(share(many, many)).toBe(0.5));
  expect(share(few, few)).toBe(0.3);
  expect(await measureAgreement(few, few)).toBe(0);
});
