import { ERRORS } from "@promptd/contract";
import { PromptdConnectionError, PromptdError, PromptdProtocolError } from "./errors.ts";

/** Full jitter (a random time up to a doubling limit), so that clients that failed together do not return together. */
const BACKOFF_BASE_MS = 500;
const BACKOFF_CAP_MS = 8_000;
/** Spread on top of Retry-After, never below it. */
const SPREAD_MS = 250;
/** A server that wants a longer pause is better shown to the caller than waited for. */
const RETRY_AFTER_MS_MAX = 60_000;

export interface Failure {
  readonly error: unknown;
  /** The answer forbade it (`x-should-retry: false`). */
  readonly isForbidden: boolean;
  /** Sending the same request twice has the effect of sending it once. */
  readonly isRepeatable: boolean;
  /** Failures before this one. */
  readonly failedBefore: number;
  /** From 0 up to 1. */
  readonly random: number;
}

/**
 * Decides whether and when a failed request is sent again (specification, "Retry rules for clients"):
 * 429 after Retry-After, 500 with backoff, 4xx never, 504 of the server never. A 500, a lost connection and a proxy's
 * own 5xx page leave open whether the server acted, so only a repeatable request is sent again.
 * @returns the pause in milliseconds; null: do not retry.
 */
export function chooseRetryPause(failure: Failure): number | null {
  const { error, random, isForbidden, isRepeatable } = failure;
  if (isForbidden) return null;
  const backoff = random * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** failure.failedBefore);
  if (error instanceof PromptdError) {
    return ERRORS[error.code].retry === "backoff" && !isRepeatable ? null : choosePauseByCode(error, random, backoff);
  }
  if (error instanceof PromptdConnectionError) return isRepeatable ? backoff : null;
  if (error instanceof PromptdProtocolError) return isRepeatable && error.httpStatus >= 500 ? backoff : null;
  return null;
}

function choosePauseByCode(error: PromptdError, random: number, backoff: number): number | null {
  const rule = ERRORS[error.code].retry;
  if (rule === "backoff") return Math.max(backoff, error.retryAfterMs ?? 0);
  if (rule !== "after-delay") return null;
  const asked = error.retryAfterMs ?? 1_000;
  return asked > RETRY_AFTER_MS_MAX ? null : asked + random * SPREAD_MS;
}

/** Reads `retry-after-ms`, else `Retry-After` in seconds; null when there is none (a date counts as none). */
export function readRetryAfterMs(headers: Headers): number | null {
  const exact = readNumber(headers.get("retry-after-ms"));
  if (exact !== null) return exact;
  const seconds = readNumber(headers.get("retry-after"));
  return seconds === null ? null : seconds * 1_000;
}

function readNumber(text: string | null): number | null {
  return text !== null && /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : null;
}
