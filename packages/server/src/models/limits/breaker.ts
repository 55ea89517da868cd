/**
 * A circuit breaker per provider and model, in this worker alone: a model that fails at half of its calls is left in
 * peace for a while, and its runs wait instead of failing. Other models are not affected.
 */
const WINDOW_CALLS = 20;
/** What a model did longer ago says nothing about it now; a send lasts minutes at most, and a storm seconds. */
const WINDOW_MS = 60_000;
const CALLS_MIN = 10;
const FAILING_SHARE = 0.5;
const OPEN_MS = 15_000;

export interface Breaker {
  /** 0: go ahead (after the pause, one caller alone as a probe). Else milliseconds until it is worth asking again. */
  admit(): number;
  /** `skipped`: the call was cancelled or says nothing about the model; a probe is then free again. */
  record(outcome: "ok" | "failed" | "opens" | "skipped"): void;
}

/**
 * @param monotonicMs a clock that never jumps.
 * @param onChange told once when it opens, and once when a success closes it; a probe that fails changes nothing.
 */
export function createBreaker(monotonicMs: () => number, onChange: (state: "open" | "closed") => void): Breaker {
  let recent: { readonly atMs: number; readonly isFailed: boolean }[] = [];
  let openUntilMs = 0;
  let isHalfOpen = false;
  let probeUntilMs = 0;
  const open = (now: number): void => {
    if (!isHalfOpen) onChange("open");
    openUntilMs = now + OPEN_MS;
    isHalfOpen = true;
    probeUntilMs = 0;
    recent = [];
  };
  const close = (): void => {
    isHalfOpen = false;
    onChange("closed");
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
      const now = monotonicMs();
      if (outcome === "skipped") {
        probeUntilMs = 0;
        return;
      }
      if (now < openUntilMs) return; // sent before it opened: no news since
      if (outcome === "opens" || (isHalfOpen && outcome === "failed")) return open(now);
      if (isHalfOpen) close();
      const isFailed = outcome === "failed";
      recent = [...recent.filter(({ atMs }) => now - atMs < WINDOW_MS), { atMs: now, isFailed }].slice(-WINDOW_CALLS);
      const failed = recent.filter((one) => one.isFailed).length;
      if (isFailed && recent.length >= CALLS_MIN && failed >= recent.length * FAILING_SHARE) open(now);
    },
  };
}
