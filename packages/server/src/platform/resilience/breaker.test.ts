import { describe, expect, test } from "vitest";
import { createBreaker } from "./breaker.ts";

function openBreaker() {
  let nowMs = 1_000;
  const changes: string[] = [];
  const breaker = createBreaker({
    nowMs: () => nowMs,
    windowCalls: 20,
    windowMs: 60_000,
    callsMin: 10,
    failingShare: 0.5,
    openMs: 15_000,
    onChange: (state) => changes.push(state),
  });
  return {
    breaker,
    changes,
    pass: (ms: number) => (nowMs += ms),
    record: (outcome: "ok" | "failed" | "opens" | "skipped", times = 1) => {
      for (let i = 0; i < times; i += 1) breaker.record(outcome);
    },
  };
}

describe("a breaker", () => {
  test("stays closed below ten calls, and opens when half of at least ten calls fail", () => {
    const { breaker, record } = openBreaker();
    record("failed", 9);
    expect(breaker.admit()).toBe(0);
    record("failed");
    expect(breaker.admit()).toBe(15_000);
  });

  test("stays closed below half, and counts only the last twenty calls", () => {
    const { breaker, record } = openBreaker();
    record("failed", 4);
    record("ok", 16);
    record("failed", 9);
    expect(breaker.admit()).toBe(0);
    record("failed");
    expect(breaker.admit()).toBeGreaterThan(0);
  });

  test("counts only the outcomes of the last minute", () => {
    const { breaker, record, pass } = openBreaker();
    record("failed", 9);
    pass(60_000);
    record("failed");
    expect(breaker.admit()).toBe(0);
    pass(59_999);
    record("failed", 8);
    expect(breaker.admit()).toBe(0);
    record("failed");
    expect(breaker.admit()).toBe(15_000);
  });

  test("never opens on a success, neither a day nor a moment after failures", () => {
    const { breaker, record, pass } = openBreaker();
    record("failed", 5);
    pass(86_400_000);
    record("ok", 5);
    expect(breaker.admit()).toBe(0);
    pass(60_000);
    record("failed", 6);
    record("ok", 6);
    expect(breaker.admit()).toBe(0);
    record("failed");
    expect(breaker.admit()).toBe(15_000);
  });

  test("is neither closed nor reopened by calls that started before it opened and end during the pause", () => {
    const { breaker, record, pass, changes } = openBreaker();
    record("failed", 10);
    pass(10_000);
    record("failed", 3);
    record("ok", 3);
    expect(breaker.admit()).toBe(5_000);
    pass(5_000);
    expect(breaker.admit()).toBe(0);
    expect(breaker.admit()).toBeGreaterThan(0);
    expect(changes).toEqual(["open"]);
  });

  test("reports when it opens and when it closes, once each", () => {
    const { breaker, record, pass, changes } = openBreaker();
    record("ok", 3);
    record("failed", 12);
    expect(changes).toEqual(["open"]);
    pass(15_000);
    breaker.admit();
    record("failed");
    pass(15_000);
    breaker.admit();
    record("ok", 2);
    expect(changes).toEqual(["open", "closed"]);
  });

  test("opens at once on a failure that says all calls will fail", () => {
    const { breaker, record } = openBreaker();
    record("opens");
    expect(breaker.admit()).toBe(15_000);
  });

  test("lets one probe through after the pause, and closes when it succeeds", () => {
    const { breaker, record, pass } = openBreaker();
    record("opens");
    pass(14_999);
    expect(breaker.admit()).toBe(1);
    pass(1);
    expect(breaker.admit()).toBe(0);
    expect(breaker.admit()).toBeGreaterThan(0);
    record("ok");
    expect(breaker.admit()).toBe(0);
    expect(breaker.admit()).toBe(0);
  });

  test("opens again when the probe fails", () => {
    const { breaker, record, pass } = openBreaker();
    record("opens");
    pass(15_000);
    breaker.admit();
    record("failed");
    expect(breaker.admit()).toBe(15_000);
  });

  test("gives the probe to another caller if the first probe was inconclusive or never returned", () => {
    const { breaker, record, pass } = openBreaker();
    record("opens");
    pass(15_000);
    breaker.admit();
    record("skipped");
    expect(breaker.admit()).toBe(0);
    pass(15_000);
    expect(breaker.admit()).toBe(0);
  });
});
