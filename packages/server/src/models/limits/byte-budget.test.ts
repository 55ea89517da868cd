import { describe, expect, test } from "vitest";
import { createByteBudget } from "./byte-budget.ts";

const LONG_MS = 60_000;
const never = new AbortController().signal;

async function isOpen(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol("open");
  return (await Promise.race([promise, Promise.resolve(open)])) === open;
}

describe("the byte budget", () => {
  test("makes a call wait until the bytes are free, first come, first served", async () => {
    const budget = createByteBudget(100);
    const first = await budget.reserve(60, LONG_MS, never);
    const large = budget.reserve(80, LONG_MS, never);
    const small = budget.reserve(10, LONG_MS, never);
    expect(await isOpen(large)).toBe(true);
    expect(await isOpen(small)).toBe(true); // it would fit, but must not overtake for ever
    first?.release();
    const release = await large;
    expect(budget.usedBytes).toBe(90);
    (await small)?.release();
    release?.release();
    expect(budget.usedBytes).toBe(0);
  });

  test("lets a call larger than the whole budget run, alone", async () => {
    const budget = createByteBudget(100);
    const giant = await budget.reserve(1_000, LONG_MS, never);
    const next = budget.reserve(1, LONG_MS, never);
    expect(await isOpen(next)).toBe(true);
    giant?.release();
    expect(await next).not.toBeNull();
  });

  test("gives up after the longest wait, and frees its place in the queue", async () => {
    const budget = createByteBudget(100);
    const release = await budget.reserve(100, LONG_MS, never);
    expect(await budget.reserve(50, 1, never)).toBeNull();
    release?.release();
    expect(await budget.reserve(100, LONG_MS, never)).not.toBeNull();
  });

  test("leaves the queue when aborted, and lets those behind it in", async () => {
    const budget = createByteBudget(100);
    await budget.reserve(50, LONG_MS, never);
    const cancel = new AbortController();
    const large = budget.reserve(80, LONG_MS, cancel.signal);
    const small = budget.reserve(50, LONG_MS, never);
    const reason = new Error("cancelled");
    cancel.abort(reason);
    await expect(large).rejects.toBe(reason);
    expect(await small).not.toBeNull();
  });

  test("counts a release once, however often it is called", async () => {
    const budget = createByteBudget(100);
    const release = await budget.reserve(60, LONG_MS, never);
    await budget.reserve(40, LONG_MS, never);
    release?.release();
    release?.release();
    expect(budget.usedBytes).toBe(40);
  });

  test("takes another size at once, and lets in what fits then", async () => {
    const budget = createByteBudget(100);
    const first = await budget.reserve(90, LONG_MS, never);
    const next = budget.reserve(50, LONG_MS, never);
    expect(await isOpen(next)).toBe(true);
    first?.resize(40);
    expect(await next).not.toBeNull();
    first?.resize(120); // what is held already cannot wait
    expect(budget.usedBytes).toBe(170);
    first?.release();
    first?.resize(10);
    expect(budget.usedBytes).toBe(50);
  });
});
