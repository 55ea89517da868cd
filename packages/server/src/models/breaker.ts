/**
 * A circuit breaker per provider and model, in this worker alone: a model that fails at half of its calls is left in
 * peace for a while, and its runs wait instead of failing. Other models are not affected.
 */
const WINDOW_CALLS = 20;
const CALLS_MIN = 10;
const FAILING_SHARE = 0.5;
const OPEN_MS = 15_000;

export interface Breaker {
  /** 0: go ahead (after the pause, one caller alone as a probe). Else milliseconds until it is worth asking again. */
  admit(): number;
  /** `skipped`: the call was cancelled or says nothing about the model; a probe is then free again. */
  record(outcome: "ok" | "failed" | "opens" | "skipped"): void;
}

/** @param monotonicMs a clock that never jumps. */
export function createBreaker(monotonicMs: () => number): Breaker {
  let recent: boolean[] = [];
  let openUntilMs = 0;
  let isHalfOpen = false;
  let probeUntilMs = 0;
  const open = (): void => {
    openUntilMs = monotonicMs() + OPEN_MS;
    isHalfOpen = true;
    probeUntilMs = 0;
    recent = [];
  };
  return {
    admit: () => {
      const now = monotonicMs();
      if (now < openUntilMs) return openUntilMs - now;
      if (!isHalfOpen) return 0;
      // A probe that never reports (its process hangs on it) must not hold the door for ever.
      if (now < probeUntilMs) return Math.min(probeUntilMs - now, OPEN_MS);
      probeUntilMs = now + OPEN_MS;
      return 0;
    },
    record: (outcome) => {
      if (outcome === "skipped") {
        probeUntilMs = 0;
        return;
      }
      if (outcome === "opens" || (isHalfOpen && outcome === "failed")) return open();
      if (outcome === "ok") isHalfOpen = false;
      recent = [...recent, outcome === "failed"].slice(-WINDOW_CALLS);
      const failed = recent.filter(Boolean).length;
      if (recent.length >= CALLS_MIN && failed >= recent.length * FAILING_SHARE) open();
    },
  };
}
