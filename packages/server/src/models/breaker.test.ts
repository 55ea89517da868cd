import { describe, expect, test } from "vitest";
import { createBreaker } from "./breaker.ts";

function setup() {
  let nowMs = 1_000;
  const breaker = createBreaker(() => nowMs);
  return {
    breaker,
    pass: (ms: number) => (nowMs += ms),
    record: (outcome: "ok" | "failed" | "opens" | "skipped", times = 1) => {
      for (let i = 0; i < times; i += 1) breaker.record(outcome);
    },
  };
}

describe("a breaker", () => {
  test("stays closed below ten calls, and opens at half of at least ten", () => {
    const { breaker, record } = setup();
    record("failed", 9);
    expect(breaker.admit()).toBe(0);
    record("failed");
    expect(breaker.admit()).toBe(15_000);
  });

  test("stays closed below half, and looks at the last twenty calls only", () => {
    const { breaker, record } = setup();
    record("failed", 4);
    record("ok", 16);
    record("failed", 9);
    expect(breaker.admit()).toBe(0);
    record("failed");
    expect(breaker.admit()).toBeGreaterThan(0);
  });

  test("opens at once when the provider refuses the installation", () => {
    const { breaker, record } = setup();
    record("opens");
    expect(breaker.admit()).toBe(15_000);
  });

  test("lets one probe through after the pause, and closes when it succeeds", () => {
    const { breaker, record, pass } = setup();
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
    const { breaker, record, pass } = setup();
    record("opens");
    pass(15_000);
    breaker.admit();
    record("failed");
    expect(breaker.admit()).toBe(15_000);
  });

  test("gives the probe to another caller when it said nothing about the model, or never came back", () => {
    const { breaker, record, pass } = setup();
    record("opens");
    pass(15_000);
    breaker.admit();
    record("skipped");
    expect(breaker.admit()).toBe(0);
    pass(15_000);
    expect(breaker.admit()).toBe(0);
  });
});
