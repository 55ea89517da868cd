/**
 * What a provider's failure means: whether the call may be sent again, whether the model counts as broken, and what
 * the caller is told. Pure functions over status, headers and body; a provider's text goes no further.
 */
import type { Modality } from "@promptd/contract";
import type { CallFailure, FailureCause, Retry } from "../model-call.ts";
import { answerMeans, jobWasDeclined, type Meaning } from "./provider-words.ts";
import type { TransportStage } from "./transport.ts";

export interface ProviderAnswer {
  readonly httpStatus: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Failure = CallFailure | { readonly kind: "refused"; readonly usage: null };

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

/** Room for an error's words; a provider may send megabytes. */
const BODY_READ_MAX = 65_536;

const REFUSED: Failure = { kind: "refused", usage: null };

interface ReadAnswer {
  readonly httpStatus: number;
  readonly means: (meaning: Meaning) => boolean;
  /** The limit passes: Gemini says when, in the words of an empty account. */
  readonly namesDelay: boolean;
}

type Decision = Pick<CallFailure, "cause" | "retry" | "breaker">;

interface Rule {
  readonly fits: (answer: ReadAnswer) => boolean;
  readonly decision: Decision | "refused";
}

const PASSES: Decision = { cause: "rate_limited", retry: "safe", breaker: "ignored" };
const NO_QUOTA: Decision = { cause: "quota", retry: "never", breaker: "opens" };

/** The statuses with which accounts and keys are refused. A 422 is about the input, and often repeats the caller's words. */
const REFUSES_ACCOUNT: readonly number[] = [400, 401, 403];

/** The first that fits decides; the last fits always. */
const RULES: readonly Rule[] = [
  {
    fits: ({ httpStatus }) => httpStatus < 400, // it could not be read
    decision: { cause: "protocol", retry: "once", breaker: "counted" },
  },
  { fits: ({ httpStatus }) => httpStatus === 402, decision: NO_QUOTA },
  {
    fits: ({ httpStatus, namesDelay, means }) => httpStatus === 429 && !namesDelay && means("quota"),
    decision: NO_QUOTA,
  },
  { fits: ({ httpStatus }) => httpStatus === 429, decision: PASSES },
  {
    fits: ({ httpStatus }) => httpStatus === 408 || httpStatus === 409 || httpStatus === 425,
    decision: { cause: "overloaded", retry: "safe", breaker: "ignored" },
  },
  {
    fits: ({ httpStatus }) => httpStatus >= 500,
    decision: { cause: "overloaded", retry: "safe", breaker: "counted" },
  },
  // Before account and key: OpenRouter and fal decline with a 403, and one caller's words must not close a model to all.
  { fits: ({ means }) => means("declined"), decision: "refused" },
  { fits: ({ httpStatus, means }) => REFUSES_ACCOUNT.includes(httpStatus) && means("quota"), decision: NO_QUOTA },
  {
    fits: ({ httpStatus, means }) =>
      httpStatus === 401 || httpStatus === 403 || (httpStatus === 400 && means("bad_key")),
    decision: { cause: "credentials", retry: "never", breaker: "opens" },
  },
  {
    fits: ({ httpStatus, means }) => httpStatus === 413 || means("too_long"),
    decision: { cause: "too_long", retry: "never", breaker: "ignored" },
  },
  { fits: () => true, decision: { cause: "bad_request", retry: "never", breaker: "ignored" } },
];

/** An HTTP answer that is no result. @param nowMs to read a Retry-After that names a date. */
export function classifyAnswer({ httpStatus, headers, body: text }: ProviderAnswer, nowMs: number): Failure {
  const body = text.slice(0, BODY_READ_MAX);
  const delayMs = httpStatus === 429 ? googleDelayMs(body) : null;
  const answer = { httpStatus, means: (meaning: Meaning) => answerMeans(body, meaning), namesDelay: delayMs !== null };
  const decision = RULES.find((rule) => rule.fits(answer))?.decision ?? "refused";
  if (decision === "refused") return REFUSED;
  const { cause, ...rest } = decision;
  return failure(cause, {
    ...rest,
    httpStatus,
    code: errorCode(body),
    retryAfterMs: longest(delayMs, retryAfterMs(headers, nowMs)),
  });
}

function longest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
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
  if (jobWasDeclined(words)) return REFUSED;
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
