export interface BreakerOptions {
  /** A clock that never jumps. */
  readonly nowMs: () => number;
  /** How many of the last outcomes count, unless they are older than `windowMs`. */
  readonly windowCalls: number;
  readonly windowMs: number;
  /** The breaker opens on a failure if at least `callsMin` calls count and at least `failingShare` of them failed. */
  readonly callsMin: number;
  readonly failingShare: number;
  readonly openMs: number;
  /** Called once when the breaker opens, and once when a success closes it. A failed probe does not call it. */
  readonly onChange?: (state: "open" | "closed") => void;
}

/** A circuit breaker: what keeps failing is not called for a while, and then only by one caller as a probe. */
export interface Breaker {
  /**
   * 0: go ahead (after the pause, only one caller may, as a probe). Otherwise, how many milliseconds to wait before
   * asking again.
   */
  admit(): number;
  /** True from opening until a success: any call admitted now is a probe. */
  readonly isOpen: boolean;
  /**
   * `opens`: a failure that opens the breaker by itself. `skipped`: the call was canceled or says nothing about the
   * other side, so another probe is allowed.
   */
  record(outcome: "ok" | "failed" | "opens" | "skipped"): void;
}

export function createBreaker(options: BreakerOptions): Breaker {
  const { nowMs, windowCalls, windowMs, callsMin, failingShare, openMs } = options;
  let recent: { readonly atMs: number; readonly isFailed: boolean }[] = [];
  let openUntilMs = 0;
  let isHalfOpen = false;
  let probeUntilMs = 0;
  const open = (now: number): void => {
    if (!isHalfOpen) options.onChange?.("open");
    openUntilMs = now + openMs;
    isHalfOpen = true;
    probeUntilMs = 0;
    recent = [];
  };
  const close = (): void => {
    isHalfOpen = false;
    options.onChange?.("closed");
  };
  return {
    get isOpen() {
      return isHalfOpen;
    },
    admit: () => {
      const now = nowMs();
      if (now < openUntilMs) return openUntilMs - now;
      if (!isHalfOpen) return 0;
      // A probe that never reports, because it hangs, must not block everyone forever.
      if (now < probeUntilMs) return Math.min(probeUntilMs - now, openMs);
      probeUntilMs = now + openMs;
      return 0;
    },
    record: (outcome) => {
      const now = nowMs();
      if (outcome === "skipped") {
        probeUntilMs = 0;
        return;
      }
      if (now < openUntilMs) return; // a call from before the breaker opened: it says nothing new
      if (outcome === "opens" || (isHalfOpen && outcome === "failed")) return open(now);
      if (isHalfOpen) close();
      const isFailed = outcome === "failed";
      recent = [...recent.filter(({ atMs }) => now - atMs < windowMs), { atMs: now, isFailed }].slice(-windowCalls);
      const failed = recent.filter((one) => one.isFailed).length;
      if (isFailed && recent.length >= callsMin && failed >= recent.length * failingShare) open(now);
    },
  };
}
