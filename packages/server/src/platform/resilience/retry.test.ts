import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fullJitterDelayMs, retry } from "./retry.ts";

test("a delay is a whole number of milliseconds below the doubled base and the cap", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000 }),
      fc.integer({ min: 1, max: 10_000 }),
      fc.integer({ min: 1, max: 100_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, baseMs, capMs, chance) => {
        const delay = fullJitterDelayMs(attempt, { baseMs, capMs }, () => chance);
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThan(Math.min(capMs, baseMs * 2 ** Math.min(attempt - 1, 40)));
      },
    ),
  );
});

test("the range doubles with every failed attempt up to the cap", () => {
  const spans = [1, 2, 3, 4, 5, 6, 7].map((attempt) =>
    fullJitterDelayMs(attempt, { baseMs: 1_000, capMs: 30_000 }, () => 0.5),
  );
  expect(spans).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
});

describe("a retry", () => {
  const BACKOFF = { baseMs: 1_000, capMs: 10_000 };
  const always = () => true;

  /** Work that fails this many times, and a clock that advances by the time slept. */
  function failingWork(failures: number) {
    let nowMs = 0;
    let calls = 0;
    return {
      calls: () => calls,
      clock: {
        nowMs: () => nowMs,
        sleep: async (ms: number) => {
          nowMs += ms;
        },
      },
      pass: (ms: number) => (nowMs += ms),
      work: async (attempt: number) => {
        calls += 1;
        expect(attempt).toBe(calls);
        if (attempt <= failures) throw new Error(`failure ${attempt}`);
        return `attempt ${attempt}`;
      },
    };
  }

  test("continues until the work succeeds, and reports each failure before its pause", async () => {
    const { work, clock } = failingWork(3);
    const reported: unknown[] = [];
    const onRetry = (error: unknown, failed: number) => reported.push([(error as Error).message, failed]);
    expect(await retry(work, { on: always, backoff: BACKOFF, onRetry, ...clock })).toBe("attempt 4");
    expect(reported).toEqual([
      ["failure 1", 1],
      ["failure 2", 2],
      ["failure 3", 3],
    ]);
  });

  test("throws at once an error that does not allow a retry", async () => {
    const { work, calls } = failingWork(3);
    await expect(retry(work, { on: () => false, backoff: BACKOFF })).rejects.toThrow("failure 1");
    expect(calls()).toBe(1);
  });

  test("makes at most the allowed number of attempts, and throws the last error", async () => {
    const { work, calls } = failingWork(9);
    await expect(retry(work, { on: always, attempts: 2 })).rejects.toThrow("failure 2");
    expect(calls()).toBe(2);
  });

  test("starts no attempt after its timeout", async () => {
    const { work, clock, pass, calls } = failingWork(9);
    const slow = (attempt: number) => {
      pass(600);
      return work(attempt);
    };
    await expect(
      retry(slow, { on: always, backoff: { baseMs: 1, capMs: 1 }, timeoutMs: 1_000, ...clock }),
    ).rejects.toThrow("failure 2");
    expect(calls()).toBe(2);
  });

  test("ends during the pause when it is aborted, with the error of the work", async () => {
    const stop = new AbortController();
    const { work, calls } = failingWork(9);
    const onRetry = () => queueMicrotask(() => stop.abort(new Error("stopped")));
    const backoff = { baseMs: 2 ** 40, capMs: 2 ** 40 };
    await expect(retry(work, { on: always, backoff, onRetry, signal: stop.signal })).rejects.toThrow("failure 1");
    expect(calls()).toBe(1);
  });

  test("makes no attempt after an abort during the work", async () => {
    const stop = new AbortController();
    const { work, calls } = failingWork(9);
    const aborting = (attempt: number) => {
      stop.abort(new Error("stopped"));
      return work(attempt);
    };
    await expect(retry(aborting, { on: always, signal: stop.signal })).rejects.toThrow("failure 1");
    expect(calls()).toBe(1);
  });
});
