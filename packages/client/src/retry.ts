import { ERRORS } from "@promptd/contract";
import type { Delay } from "./delay.ts";
import { PromptdConnectionError, PromptdError, PromptdProtocolError } from "./errors.ts";

/** Full jitter (a random time up to a doubling limit), so that clients that failed together do not retry together. */
const BACKOFF_BASE_MS = 500;
const BACKOFF_CAP_MS = 8_000;
/** Random delay added to Retry-After, never subtracted. */
const SPREAD_MS = 250;
/** If the server asks for a longer pause, the caller gets the error instead. */
const RETRY_AFTER_MS_MAX = 60_000;
const RETRY_AFTER_MS_DEFAULT = 1_000;
/** A longer wait is explained with a warning. */
const QUIET_MS_MAX = 5_000;

export interface RetryPolicy {
  /** How often a call may be retried. */
  readonly maxRetries: number;
  readonly delay: Delay;
  readonly random: () => number;
  /** Called once per operation, at the first failure after several seconds. */
  readonly onWarning: (message: string) => void;
}

/** For operations that wait for a run or batch to end: a restarting server is back by then. */
export const RETRY_FOR_MS = 120_000;

export interface RetryOptions {
  readonly signal?: AbortSignal | undefined;
  /** Sending the same request twice has the effect of sending it once. Default: true. */
  readonly isRepeatable?: boolean;
  /** Replaces the policy's value. */
  readonly maxRetries?: number | undefined;
  /** Retries for this many milliseconds, instead of `maxRetries` times. */
  readonly retryForMs?: number | undefined;
}

/** Decides after each failure of an operation whether and when to retry it. */
export interface Retries {
  /** Records whether a response forbids a retry (`x-should-retry: false`), and returns the response. */
  heard<Answer extends { readonly headers: Headers }>(answer: Answer): Answer;
  /** Data has arrived: the next failure counts as the first. */
  restart(): void;
  /** Waits before the next retry. @throws the error if there is none; the reason of an aborted signal. */
  next(error: unknown): Promise<void>;
}

export function createRetries({ delay, random, onWarning, ...policy }: RetryPolicy, options: RetryOptions): Retries {
  const { signal, isRepeatable = true, maxRetries = policy.maxRetries, retryForMs } = options;
  let startedMs: number;
  let pausedMs: number;
  let failedBefore: number;
  let isForbidden = false;
  let quietMs = QUIET_MS_MAX;
  const restart = () => {
    startedMs = performance.now();
    pausedMs = 0;
    failedBefore = 0;
  };
  restart();
  return {
    restart,
    heard: (answer) => {
      isForbidden = answer.headers.get("x-should-retry") === "false";
      return answer;
    },
    next: async (error) => {
      signal?.throwIfAborted();
      const pause = choosePause(error, isRepeatable, failedBefore, random());
      if (pause === null || isForbidden) throw error;
      pausedMs += pause;
      const spentMs = Math.max(pausedMs, performance.now() - startedMs);
      if (retryForMs === undefined ? failedBefore >= maxRetries : spentMs > retryForMs) throw error;
      if (spentMs > quietMs) {
        quietMs = Number.POSITIVE_INFINITY;
        onWarning(`Still trying. ${(error as Error).message}`);
      }
      failedBefore += 1;
      await delay(pause, signal);
    },
  };
}

/**
 * Decides whether and when to retry a failed request (specification, "Retry rules for clients"):
 * 429 after Retry-After, 500 with backoff, 4xx never, the server's 504 never. After a 500, a lost connection, or a
 * proxy's own 5xx page, the server may have acted, so only a repeatable request is retried.
 * @param failedBefore failures before this one.
 * @param random from 0 up to 1.
 * @returns the pause in milliseconds; null: do not retry.
 */
function choosePause(error: unknown, isRepeatable: boolean, failedBefore: number, random: number): number | null {
  const rule = ruleOf(error);
  const askedMs = error instanceof PromptdError ? error.retryAfterMs : null;
  if (rule === "after-delay") {
    const pauseMs = askedMs ?? RETRY_AFTER_MS_DEFAULT;
    return pauseMs > RETRY_AFTER_MS_MAX ? null : pauseMs + random * SPREAD_MS;
  }
  if (rule !== "backoff" || !isRepeatable) return null;
  return Math.max(random * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** failedBefore), askedMs ?? 0);
}

function ruleOf(error: unknown): string {
  if (error instanceof PromptdError) return ERRORS[error.code].retry;
  const isLost = error instanceof PromptdConnectionError;
  return isLost || (error instanceof PromptdProtocolError && error.httpStatus >= 500) ? "backoff" : "never";
}

/** Reads `retry-after-ms`, else `Retry-After` in seconds; null without a usable value (dates are ignored). */
export function readRetryAfterMs(headers: Headers): number | null {
  const read = (name: string, unitMs: number): number | null => {
    const text = headers.get(name) ?? "";
    return /^\d+(\.\d+)?$/.test(text) ? Number(text) * unitMs : null;
  };
  return read("retry-after-ms", 1) ?? read("retry-after", 1_000);
}
