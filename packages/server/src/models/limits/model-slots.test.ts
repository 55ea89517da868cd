import { expect, test } from "vitest";
import { createModelSlots } from "./model-slots.ts";

test("a model takes no more calls than its limit", () => {
  const slots = createModelSlots(2);
  expect([slots.tryTake(), slots.tryTake(), slots.tryTake()]).toEqual([true, true, false]);
  slots.release("other");
  expect(slots.tryTake()).toBe(true);
});

test("a 429 halves the limit, ten successes add one back, and the catalogue's limit is the top", () => {
  const slots = createModelSlots(8);
  const finish = (outcome: "ok" | "rate-limited", times = 1): void => {
    for (let i = 0; i < times; i += 1) {
      slots.tryTake();
      slots.release(outcome);
    }
  };
  finish("rate-limited");
  expect(slots.limit).toBe(4);
  finish("rate-limited", 5);
  expect(slots.limit).toBe(1);
  finish("ok", 9);
  expect(slots.limit).toBe(1);
  finish("ok");
  expect(slots.limit).toBe(2);
  finish("ok", 1_000);
  expect(slots.limit).toBe(8);
});
