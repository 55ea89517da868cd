import type { Clock } from "../../platform/clock.ts";

/** Time as the sandbox sees it, passed in so that tests need not wait. */
export interface SandboxTimer extends Clock {
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

export function createSandboxTimer(clock: Clock): SandboxTimer {
  return { nowMs: clock.nowMs, wait: waitOrAbort };
}

/** The timer of node:timers/promises rejects with its own AbortError; a deadline must arrive as what it is. */
function waitOrAbort(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** Never resolves: the answer of a provider that hangs. */
export function waitForAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.throwIfAborted();
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
