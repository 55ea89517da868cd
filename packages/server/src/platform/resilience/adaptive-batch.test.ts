import { expect, test } from "vitest";
import { createAdaptiveBatch } from "./adaptive-batch.ts";

class TooLarge extends Error {}
const isTooLarge = (error: unknown) => error instanceof TooLarge;

/** A database that can do this many at once. */
const able = (most: number) => async (size: number) => {
  if (size > most) throw new TooLarge();
  return size;
};

test("a batch that is too large is halved until it fits, and doubled after each success", async () => {
  const batch = createAdaptiveBatch({ max: 200, isTooLarge });
  for (const size of [200, 100, 50]) {
    expect(batch.size).toBe(size);
    await expect(batch.run(able(30))).rejects.toThrow(TooLarge);
  }
  expect(await batch.run(able(30))).toBe(25);
  expect(await batch.run(able(200))).toBe(50);
  expect(await batch.run(able(200))).toBe(100);
  expect(await batch.run(able(200))).toBe(200);
  expect(batch.size).toBe(200);
});

test("a batch is never smaller than the minimum, and other failures change nothing", async () => {
  const batch = createAdaptiveBatch({ max: 4, min: 2, isTooLarge });
  for (let i = 0; i < 3; i += 1) await expect(batch.run(able(0))).rejects.toThrow(TooLarge);
  expect(batch.size).toBe(2);
  const failing = () => Promise.reject(new Error("something else"));
  await expect(createAdaptiveBatch({ max: 4, isTooLarge }).run(failing)).rejects.toThrow("something else");
});

test("the size that was tried counts, not the size that was allowed", async () => {
  const batch = createAdaptiveBatch({ max: 200, isTooLarge });
  await expect(batch.run(able(2), 5)).rejects.toThrow(TooLarge);
  expect(batch.size).toBe(3);
});

test("a slow batch that succeeds does not change the size", async () => {
  const batch = createAdaptiveBatch({ max: 8, quickMs: 0, isTooLarge });
  batch.shrink();
  expect(await batch.run(able(8))).toBe(4);
  expect(batch.size).toBe(4);
  batch.grow();
  expect(batch.size).toBe(8);
});
