import { sleep } from "./deadline.ts";

/** A number from 0 (inclusive) to 1 (exclusive). Passed in, so that a test can control it. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

export interface Backoff {
  readonly baseMs: number;
  readonly capMs: number;
}

export interface RetryOptions {
  /** Whether the work may succeed if it is retried after this error. */
  readonly on: (error: unknown) => boolean;
  /** Absent: the next attempt follows at once. */
  readonly backoff?: Backoff;
  /** Includes the first attempt. */
  readonly attempts?: number;
  /** No attempt begins later than this after the first. */
  readonly timeoutMs?: number;
  /** Ends the retries, and the pause between two attempts. */
  readonly signal?: AbortSignal | undefined;
  /** Called before the pause, with the number of failed attempts. */
  readonly onRetry?: (error: unknown, failed: number) => void;
  /** For tests and for callers that inject their clock. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly nowMs?: () => number;
}

/**
 * Repeats work until it succeeds, with growing pauses. `attempt` counts from 1.
 * @throws the work's last error.
 */
export async function retry<Result>(
  work: (attempt: number) => Promise<Result>,
  options: RetryOptions,
): Promise<Result> {
  const { on, backoff, attempts = Infinity, timeoutMs = Infinity, signal, nowMs = () => performance.now() } = options;
  const untilMs = nowMs() + timeoutMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (signal?.aborted === true || attempt >= attempts || !on(error)) throw error;
      const delayMs = backoff === undefined ? 0 : fullJitterDelayMs(attempt, backoff);
      if (nowMs() + delayMs > untilMs) throw error;
      options.onRetry?.(error, attempt);
      const pause = backoff === undefined ? Promise.resolve() : (options.sleep ?? sleep)(delayMs, signal);
      await pause.catch(() => {
        throw error;
      });
    }
  }
}

/** At this attempt the cap has long been reached, and a larger power of 2 would exceed the safe integers. */
const DOUBLINGS_MAX = 30;

/**
 * Returns how long to wait before attempt `attempt + 1`: anywhere between 0 and `min(capMs, baseMs * 2^(attempt - 1))`.
 * The whole span is random ("full jitter"), so that many callers refused at the same time do not return at the same
 * time.
 * @param attempt the number of failed attempts, from 1.
 */
export function fullJitterDelayMs(attempt: number, backoff: Backoff, random: Random = systemRandom): number {
  const doublings = Math.min(Math.max(attempt - 1, 0), DOUBLINGS_MAX);
  return Math.floor(random() * Math.min(backoff.capMs, backoff.baseMs * 2 ** doublings));
}
