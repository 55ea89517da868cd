/** Waits that end at once when they are aborted, and deadlines that can be told from an abort. */

export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

/** Rejects with the signal's reason; the timer of node:timers/promises would reject with an error of its own. */
export const waitOrAbort: Wait = (ms, signal) =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });

export interface Deadline {
  /** Aborts at the deadline, or together with the outer signal and for its reason. */
  readonly signal: AbortSignal;
  readonly hasPassed: () => boolean;
  /** Must be called when the work has ended, or the timer and the listener stay. */
  stop(): void;
}

/** The largest delay a timer takes; more would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export function startDeadline(ms: number, outer: AbortSignal): Deadline {
  const own = new AbortController();
  let hasPassed = false;
  const follow = (): void => own.abort(outer.reason);
  const timer = setTimeout(
    () => {
      hasPassed = true;
      own.abort(new DOMException("the model did not answer in time", "TimeoutError"));
    },
    Math.min(Math.max(ms, 0), TIMER_MS_MAX),
  );
  if (outer.aborted) follow();
  else outer.addEventListener("abort", follow, { once: true });
  return {
    signal: own.signal,
    hasPassed: () => hasPassed,
    stop: () => {
      clearTimeout(timer);
      outer.removeEventListener("abort", follow);
    },
  };
}
