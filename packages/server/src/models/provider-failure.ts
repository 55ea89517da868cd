/**
 * What a provider's failure means: whether the call may be sent again, whether the model counts as broken, and what
 * the caller is told. Pure functions over status, headers and body; provider texts are read here and go no further.
 */
import type { Modality } from "@promptd/contract";
import type { CallFailure, FailureCause, Retry } from "./model-call.ts";
import type { TransportStage } from "./transport.ts";

export interface ProviderAnswer {
  readonly httpStatus: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Failure = CallFailure | { readonly kind: "refused"; readonly usage: null };

/** Room for an error's words; a provider may send megabytes. */
const BODY_READ_MAX = 65_536;

/** A failure with nothing to tell but its cause. */
export function failure(
  cause: FailureCause,
  decision: Pick<CallFailure, "retry" | "breaker"> & Partial<CallFailure>,
): CallFailure {
  return {
    kind: "failed",
    cause,
    retryAfterMs: null,
    sentence: null,
    httpStatus: null,
    code: null,
    usage: null,
    ...decision,
  };
}

const REFUSAL =
  /content_policy|content_filter|moderation_blocked|content_moderation|prohibited_content|safety_violation|\bnsfw\b|flagged as sensitive/i;
const QUOTA =
  /insufficient_quota|billing|credit balance is too low|exhausted balance|insufficient credit|payment required/i;
const TOO_LONG =
  /context_length_exceeded|context length|prompt is too long|request_too_large|maximum number of tokens|too many tokens|input is too long|string_above_max_length/i;
const BAD_KEY = /api_key_invalid|api key not valid|invalid_api_key/i;

/** An HTTP answer that is no result. @param nowMs to read a Retry-After that names a date. */
export function classifyAnswer(answer: ProviderAnswer, nowMs: number): Failure {
  const { httpStatus } = answer;
  const words = answer.body.slice(0, BODY_READ_MAX);
  const told = { httpStatus, code: errorCode(words), retryAfterMs: retryAfterMs(answer.headers, nowMs) };
  if (httpStatus < 400) return failure("protocol", { retry: "once", breaker: "counted", ...told });
  const passesAfterMs = httpStatus === 429 ? googleDelayMs(words) : null;
  if (passesAfterMs !== null) {
    const waitMs = Math.max(passesAfterMs, told.retryAfterMs ?? 0);
    return failure("rate_limited", { retry: "safe", breaker: "ignored", ...told, retryAfterMs: waitMs });
  }
  if (httpStatus === 402 || (httpStatus < 500 && QUOTA.test(words))) {
    return failure("quota", { retry: "never", breaker: "opens", ...told });
  }
  if (httpStatus === 429) return failure("rate_limited", { retry: "safe", breaker: "ignored", ...told });
  if (httpStatus === 401 || httpStatus === 403 || BAD_KEY.test(words)) {
    if (REFUSAL.test(words)) return { kind: "refused", usage: null };
    return failure("credentials", { retry: "never", breaker: "opens", ...told });
  }
  if (httpStatus === 408 || httpStatus === 409 || httpStatus === 425) {
    return failure("overloaded", { retry: "safe", breaker: "ignored", ...told });
  }
  if (httpStatus >= 500) return failure("overloaded", { retry: "safe", breaker: "counted", ...told });
  if (REFUSAL.test(words)) return { kind: "refused", usage: null };
  const cause = httpStatus === 413 || TOO_LONG.test(words) ? "too_long" : "bad_request";
  return failure(cause, { retry: "never", breaker: "ignored", ...told });
}

/**
 * Google tells a limit per minute and one per day in the same words, "check your plan and billing details", and says
 * when to come back in the body alone. Null: no such delay is named, or it is the day's quota that is used up.
 */
function googleDelayMs(words: string): number | null {
  const seconds = /"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)s"/.exec(words)?.[1];
  return seconds === undefined || /"quotaId"\s*:\s*"[^"]*PerDay/.test(words)
    ? null
    : Math.ceil(Number(seconds) * 1_000);
}

/** A failure below HTTP. Images and videos are never sent again once bytes went out: the first may be billed. */
export function classifyTransport(stage: TransportStage, modality: Modality): CallFailure {
  const ambiguous: Retry = modality === "text" ? "once" : "never";
  switch (stage) {
    case "connect":
      return failure("network", { retry: "safe", breaker: "counted" });
    case "sent":
      return failure("network", { retry: ambiguous, breaker: "counted" });
    case "too-large":
      return failure("too_large", { retry: "never", breaker: "counted" });
    case "protocol":
      return failure("protocol", { retry: ambiguous, breaker: "counted" });
    case "result":
      return failure("image_unusable", { retry: "never", breaker: "ignored" });
    default:
      return stage satisfies never;
  }
}

/** A started job ended badly; providers say why in words only. */
export function classifyJobFailure(words: string): Failure {
  if (REFUSAL.test(words) || /safety|sensitive content|usage guidelines|policy/i.test(words)) {
    return { kind: "refused", usage: null };
  }
  return failure("job_failed", { retry: "never", breaker: "ignored" });
}

const SAFE_CODE = /^[\w.:-]{1,64}$/;

/** The provider's machine-readable word, for the operator's log; null when there is none. */
function errorCode(body: string): string | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return null; // no JSON: nothing machine-readable to tell
  }
  const error = member(parsed, "error") ?? parsed;
  const words = ["code", "type", "status", "title"].map((name) => member(error, name));
  const code = words.find((word) => typeof word === "string" && SAFE_CODE.test(word));
  return typeof code === "string" ? code : null;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** Longer than any deadline, and still an exact integer where a time is added to it. */
const WAIT_MS_MAX = 1e12;

/**
 * Milliseconds from `retry-after-ms` or `retry-after` (seconds, or a date), at most WAIT_MS_MAX: however large a number
 * is, it was said. Null when absent or unreadable.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | null {
  const precise = headers["retry-after-ms"];
  if (precise !== undefined && /^\d+(\.\d+)?$/.test(precise)) return boundedWait(Number(precise));
  const value = headers["retry-after"];
  if (value === undefined) return null;
  if (/^\d+(\.\d+)?$/.test(value)) return boundedWait(Number(value) * 1_000);
  const at = value.endsWith("GMT") ? Date.parse(value) : Number.NaN; // Date.parse would take "-5" for a month
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

function boundedWait(ms: number): number {
  return Math.min(Math.ceil(ms), WAIT_MS_MAX);
}
