import { expect, test, vi } from "vitest";
import { createGate } from "./gate.ts";

test("no more than the width run at once, all run, in order, also after a failure", async () => {
  const gate = createGate(2);
  const started: number[] = [];
  const finish: (() => void)[] = [];
  const state = { running: 0, most: 0 };
  const works = Array.from({ length: 5 }, (_, i) =>
    gate(async () => {
      started.push(i);
      state.running += 1;
      state.most = Math.max(state.most, state.running);
      await new Promise<void>((resolve) => {
        finish.push(resolve);
      });
      state.running -= 1;
      if (i === 1) throw new Error("broken");
      return i;
    }).catch(() => "failed"),
  );
  for (let i = 0; i < 5; i += 1) {
    await vi.waitUntil(() => finish.length > 0);
    finish.shift()?.();
  }
  expect(await Promise.all(works)).toEqual([0, "failed", 2, 3, 4]);
  expect(started).toEqual([0, 1, 2, 3, 4]);
  expect(state.most).toBe(2);
});
