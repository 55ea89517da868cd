import { ERRORS } from "@promptd/contract";
import type { Delay } from "./delay.ts";
import { PromptdConnectionError, PromptdError, PromptdProtocolError } from "./errors.ts";

/** Full jitter (a random time up to a doubling limit), so that clients that failed together do not return together. */
const BACKOFF_BASE_MS = 500;
const BACKOFF_CAP_MS = 8_000;
/** Spread on top of Retry-After, never below it. */
const SPREAD_MS = 250;
/** A server that wants a longer pause is better shown to the caller than waited for. */
const RETRY_AFTER_MS_MAX = 60_000;
const RETRY_AFTER_MS_DEFAULT = 1_000;
/** Whoever waits longer than this should know for what. */
const QUIET_MS_MAX = 5_000;

export interface RetryPolicy {
  /** How often one call may be sent again. */
  readonly maxRetries: number;
  readonly delay: Delay;
  readonly random: () => number;
  /** Called once for a piece of work: at the first failure after more than some seconds. */
  readonly onWarning: (message: string) => void;
}

/** For what stays with a run or a batch until its end: a server that restarts is back by then. */
export const RETRY_FOR_MS = 120_000;

export interface RetryOptions {
  readonly signal?: AbortSignal | undefined;
  /** Sending the same request twice has the effect of sending it once; true when absent. */
  readonly isRepeatable?: boolean;
  /** In place of the policy's. */
  readonly maxRetries?: number | undefined;
  /** Sent again as often as these milliseconds allow, in place of `maxRetries`. */
  readonly retryForMs?: number | undefined;
}

/** Decides after each failure of one piece of work whether and when it is tried again. */
export interface Retries {
  /** Notes whether an answer forbids another try (`x-should-retry: false`), and returns it. */
  heard<Answer extends { readonly headers: Headers }>(answer: Answer): Answer;
  /** Something has arrived: the next failure counts as the first. */
  restart(): void;
  /** Waits before the next try. @throws the error when there is none; the reason of a signal that is aborted. */
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
 * Decides whether and when a failed request is sent again (specification, "Retry rules for clients"):
 * 429 after Retry-After, 500 with backoff, 4xx never, 504 of the server never. A 500, a lost connection and a proxy's
 * own 5xx page leave open whether the server acted, so only a repeatable request is sent again.
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

/** Reads `retry-after-ms`, else `Retry-After` in seconds; null when there is none (a date counts as none). */
export function readRetryAfterMs(headers: Headers): number | null {
  const read = (name: string, unitMs: number): number | null => {
    const text = headers.get(name) ?? "";
    return /^\d+(\.\d+)?$/.test(text) ? Number(text) * unitMs : null;
  };
  return read("retry-after-ms", 1) ?? read("retry-after", 1_000);
}
