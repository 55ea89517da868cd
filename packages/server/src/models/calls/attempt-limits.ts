/** Bounds the provider calls of one output item: how many there are, what ends them, and which model is called next. */
import type { Modality } from "@promptd/contract";
import { fullJitterDelayMs, type Random } from "../../platform/resilience/retry.ts";
import type { CallFailure, FailureCause } from "../providers/failure.ts";

/** Per output item of a run: retries, JSON corrections, and fallbacks all count. */
export const ATTEMPTS_MAX = 3;

const BACKOFF = { baseMs: 1_000, capMs: 30_000 };

interface FailedCall {
  readonly failure: CallFailure;
  /** Within its item, from 1. */
  readonly callNumber: number;
}

/** True: this model is not called again. */
export function isFinal({ failure, callNumber }: FailedCall, hasRetriedOnce: boolean): boolean {
  return failure.retry === "never" || callNumber >= ATTEMPTS_MAX || (failure.retry === "once" && hasRetriedOnce);
}

/** The wait before the next call of the same model. */
export function backoffMs({ failure, callNumber }: FailedCall, random: Random): number {
  return Math.max(failure.retryAfterMs ?? 0, fullJitterDelayMs(callNumber, BACKOFF, random));
}

const OF_KEY: ReadonlySet<FailureCause> = new Set(["rate_limited", "quota", "credentials"]);

/** True for failures of the account behind one key: another key can be tried at once. */
export function isOfKey({ failure, callNumber }: FailedCall): boolean {
  return callNumber < ATTEMPTS_MAX && OF_KEY.has(failure.cause);
}

const ELSEWHERE_MAY_DO: ReadonlySet<FailureCause> = new Set(["overloaded", "network", "rate_limited"]);
/** Retrying this model will not help. */
const NEVER_HERE: ReadonlySet<FailureCause> = new Set([
  "credentials",
  "quota",
  "model_missing",
  "job_failed",
  "too_long",
]);

/**
 * The next model gets the last of the three attempts, or the next one if the model's breaker opens or the model will
 * never answer. A call whose picture may have been billed is not repeated elsewhere, and a declined request stays declined.
 */
export function callsFallback({ failure, callNumber }: FailedCall, modality: Modality): boolean {
  if (callNumber >= ATTEMPTS_MAX) return false;
  const { breaker, cause, retry } = failure;
  const mayBeBilled = modality !== "text" && retry === "never" && cause !== "job_failed" && breaker !== "opens";
  if (NEVER_HERE.has(cause) || breaker === "opens") return true;
  if (cause === "timeout" || cause === "protocol") return !mayBeBilled;
  return callNumber === ATTEMPTS_MAX - 1 && ELSEWHERE_MAY_DO.has(cause) && !mayBeBilled;
}
