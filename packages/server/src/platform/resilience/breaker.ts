export interface BreakerOptions {
  /** A clock that never jumps. */
  readonly nowMs: () => number;
  /** How many of the last outcomes count, if they are not older than `windowMs`. */
  readonly windowCalls: number;
  readonly windowMs: number;
  /** It opens on a failure when so many calls are known, and so large a share of them failed. */
  readonly callsMin: number;
  readonly failingShare: number;
  readonly openMs: number;
  /** Called once when it opens, and once when a success closes it; a probe that fails changes nothing. */
  readonly onChange?: (state: "open" | "closed") => void;
}

/** A circuit breaker: what keeps failing is not called for a while, then by one caller alone. */
export interface Breaker {
  /** 0: go ahead (after the pause, one caller alone as a probe). Else milliseconds until it is worth asking again. */
  admit(): number;
  /** True from its opening until a success: a call that is admitted now is a probe. */
  readonly isOpen: boolean;
  /**
   * `opens`: one such failure is enough. `skipped`: the call was canceled or says nothing about the other side; a
   * probe is then free again.
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
      // A probe that never reports, because its process hangs on it, must not keep everybody out for ever.
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
      if (now < openUntilMs) return; // a call from before it opened: no news since
      if (outcome === "opens" || (isHalfOpen && outcome === "failed")) return open(now);
      if (isHalfOpen) close();
      const isFailed = outcome === "failed";
      recent = [...recent.filter(({ atMs }) => now - atMs < windowMs), { atMs: now, isFailed }].slice(-windowCalls);
      const failed = recent.filter((one) => one.isFailed).length;
      if (isFailed && recent.length >= callsMin && failed >= recent.length * failingShare) open(now);
    },
  };
}
