import { expect, test } from "vitest";
import { createBodyBudget } from "./body-budget.ts";

const MIB = 1_048_576;
const never = new AbortController().signal;
const LIMITS = {
  smallBodyBytesMax: 64 * 1_024,
  totalBodyBytesMax: 96 * MIB,
  accountBodyBytesMax: 40 * MIB,
  bodyWaitMs: 60_000,
  bodyPassMs: 0,
};

test("after a large body, its account has to wait and no other account does", async () => {
  const budget = createBodyBudget({ ...LIMITS, accountBodyBytesMax: 6 * MIB });
  (await budget.reserve("a", 5 * MIB, never)).release();
  const startMs = performance.now();
  const order: string[] = [];
  const waiting = budget.reserve("a", 5 * MIB, never).then(() => order.push("large"));
  await budget.reserve("b", 5 * MIB, never).then(() => order.push("other"));
  await waiting;
  expect(order).toEqual(["other", "large"]);
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(199); // 40 ms per MiB
});

test("a body of a few megabytes releases its memory at once", async () => {
  const budget = createBodyBudget({ ...LIMITS, accountBodyBytesMax: 3 * MIB, bodyWaitMs: 1 });
  let admitted = 0;
  for (; admitted < 200; admitted += 1) (await budget.reserve("a", 3 * MIB, never)).release();
  expect(admitted).toBe(200);
});
