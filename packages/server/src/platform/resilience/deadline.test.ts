import { describe, expect, test } from "vitest";
import { DeadlineError, orAborted, pollUntil, runWithin, settleWithin, sleep, withDeadline } from "./deadline.ts";

const never = new Promise<never>(() => {});
const untilAborted = (signal: AbortSignal) => orAborted(never, signal);

describe("a deadline", () => {
  test("aborts the work at the time limit, with an error that says so", async () => {
    await expect(withDeadline(1, untilAborted)).rejects.toThrow(DeadlineError);
    await expect(withDeadline(1, untilAborted, { error: () => new Error("too slow") })).rejects.toThrow("too slow");
    await expect(withDeadline(-1, untilAborted)).rejects.toThrow(DeadlineError);
  });

  test("follows the outer signal, before and during the work, with its reason", async () => {
    const outer = new AbortController();
    const during = withDeadline(60_000, untilAborted, { signal: outer.signal });
    outer.abort(new Error("canceled"));
    await expect(during).rejects.toThrow("canceled");
    await expect(withDeadline(60_000, untilAborted, { signal: outer.signal })).rejects.toThrow("canceled");
  });

  test("lets the work decide when it ends, so that it can clean up", async () => {
    const result = withDeadline(1, (signal) => untilAborted(signal).catch(() => "cleaned up"));
    expect(await result).toBe("cleaned up");
  });

  test("aborts nothing once the work has ended, and leaves no timer behind", async () => {
    const signals: AbortSignal[] = [];
    const outer = new AbortController();
    await withDeadline(2 ** 40, async (signal) => void signals.push(signal), { signal: outer.signal });
    outer.abort();
    expect(signals[0]?.aborted).toBe(false);
  });
});

test("waiting for work that ignores its signal ends at the abort, and a later failure is ignored", async () => {
  const stop = new AbortController();
  const { promise, reject } = Promise.withResolvers<void>();
  const waiting = orAborted(promise, stop.signal);
  stop.abort(new Error("canceled"));
  await expect(waiting).rejects.toThrow("canceled");
  reject(new Error("late"));
  expect(await orAborted(Promise.resolve("done"), new AbortController().signal)).toBe("done");
});

test("a sleep ends after its time, or with the reason of its signal", async () => {
  await sleep(1);
  const stop = new AbortController();
  const sleeping = sleep(60_000, stop.signal);
  stop.abort(new Error("canceled"));
  await expect(sleeping).rejects.toThrow("canceled");
  await expect(sleep(60_000, stop.signal)).rejects.toThrow("canceled");
});

test("settleWithin waits until the time is over, whether the work succeeds or fails", async () => {
  expect(await settleWithin([Promise.resolve(), Promise.reject(new Error("failed"))], 60_000)).toBe(true);
  expect(await settleWithin([], 60_000)).toBe(true);
  expect(await settleWithin([Promise.resolve(), never], 1)).toBe(false);
});

describe("polling", () => {
  const everyMs = 1;

  test("ends with the first answer that is not null", async () => {
    let polls = 0;
    expect(await pollUntil(async () => ((polls += 1) < 3 ? null : polls), { everyMs, timeoutMs: 60_000 })).toBe(3);
  });

  test("asks at least once, and ends without an answer when the time is over", async () => {
    expect(await pollUntil(async () => "at once", { everyMs, timeoutMs: 0 })).toBe("at once");
    expect(await pollUntil(async () => null, { everyMs, timeoutMs: 1 })).toBeNull();
  });

  test("ends with the reason of an abort", async () => {
    const stop = new AbortController();
    const ask = async () => {
      stop.abort(new Error("given up"));
      return null;
    };
    await expect(pollUntil(ask, { everyMs: 60_000, timeoutMs: 60_000, signal: stop.signal })).rejects.toThrow(
      "given up",
    );
  });
});

describe("synchronous work", () => {
  test("is interrupted at its time limit, and the next work runs", () => {
    const endless = () => {
      for (;;);
    };
    expect(() => runWithin(5, endless)).toThrow(DeadlineError);
    expect(() => runWithin(5, () => /^(a+)+$/.test(`${"a".repeat(60)}b`))).toThrow(DeadlineError);
    expect(runWithin(60_000, () => "done")).toBe("done");
  });

  test("starts over if it had no processor time, because the machine stood still", () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    let calls = 0;
    const work = () => {
      calls += 1;
      return calls < 3 ? Atomics.wait(cell, 0, 0) : "done";
    };
    expect(runWithin(20, work)).toBe("done");
  });

  test("throws its own errors", () => {
    const broken = () => {
      throw new TypeError("broken");
    };
    expect(() => runWithin(60_000, broken)).toThrow(TypeError);
  });
});
