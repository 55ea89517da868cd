/**
 * What a provider's failure means: whether the call may be repeated, whether the model counts as broken, and what the
 * caller learns. Pure functions of status, headers, and body; the provider's text goes no further.
 */
import type { Modality } from "@promptd/contract";
import type { PricedUse } from "../../credits/index.ts";
import { ALL_PROVIDERS } from "./all-providers.ts";
import { memberOf, parseJson } from "../../platform/json.ts";
import { FLAGGED_INPUT } from "./openai-compatible.ts";
import type { Meaning } from "./provider.ts";
import type { TransportStage } from "./transport.ts";

/** The usage that a provider reports for an item; `isEstimated` if it reports none. */
export interface Usage extends PricedUse {
  readonly isEstimated: boolean;
}

export const FAILURE_CAUSES = [
  "rate_limited",
  "overloaded",
  "network",
  "timeout",
  "bad_request",
  "too_long",
  "credentials",
  "quota",
  "protocol",
  "too_large",
  "empty",
  "image_unusable",
  "job_failed",
  "model_missing",
  "reasoned_only",
] as const;
export type FailureCause = (typeof FAILURE_CAUSES)[number];

/** `once`: at most one more attempt, since the first may have been billed. */
type Retry = "never" | "safe" | "once";

export interface CallFailure {
  readonly kind: "failed";
  readonly cause: FailureCause;
  readonly retry: Retry;
  /** Whether it counts against the model in the circuit breaker; `opens`: the breaker opens at once. */
  readonly breaker: "ignored" | "counted" | "opens";
  readonly retryAfterMs: number | null;
  /** A message for the caller instead of the fixed one. */
  readonly sentence: string | null;
  /** For the operator's log: the HTTP status and the provider's code, never its text. */
  readonly httpStatus: number | null;
  readonly code: string | null;
  readonly usage: Usage | null;
}

export type Failure = CallFailure | { readonly kind: "refused"; readonly usage: null };

/** Creates a failure; everything that `decision` does not set is null. */
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

export interface ProviderAnswer {
  readonly httpStatus: number;
  /** With lowercase names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Enough for an error; a provider may send megabytes. */
const BODY_READ_MAX = 65_536;

const REFUSED: Failure = { kind: "refused", usage: null };

const WORDS = ALL_PROVIDERS.map(({ failures }) => failures);

/** This model can handle no call at all, but the next model may. */
const NO_MODEL: Decision = { cause: "model_missing", retry: "never", breaker: "ignored" };

interface ReadAnswer {
  readonly httpStatus: number;
  readonly means: (meaning: Meaning) => boolean;
  /** The limit is temporary: Gemini says when it ends, in the words it also uses for an exhausted account. */
  readonly namesDelay: boolean;
}

type Decision = Pick<CallFailure, "cause" | "retry" | "breaker">;

interface Rule {
  readonly fits: (answer: ReadAnswer) => boolean;
  readonly decision: Decision | "refused";
}

const PASSES: Decision = { cause: "rate_limited", retry: "safe", breaker: "ignored" };
const NO_QUOTA: Decision = { cause: "quota", retry: "never", breaker: "opens" };

/** Statuses that reject accounts and keys. */
const REFUSES_ACCOUNT: readonly number[] = [400, 401, 403];

/** The first rule that matches decides; the last one always matches. */
const RULES: readonly Rule[] = [
  {
    fits: ({ httpStatus }) => httpStatus < 400, // an unreadable response
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
  // Before account and key: OpenRouter and fal decline with a 403, and one caller's prompt must not block a model for everybody.
  { fits: ({ means }) => means("declined"), decision: "refused" },
  { fits: ({ httpStatus, means }) => REFUSES_ACCOUNT.includes(httpStatus) && means("quota"), decision: NO_QUOTA },
  { fits: ({ httpStatus, means }) => httpStatus === 404 || means("noModel"), decision: NO_MODEL },
  {
    fits: ({ httpStatus, means }) =>
      httpStatus === 401 || httpStatus === 403 || (httpStatus === 400 && means("badKey")),
    decision: { cause: "credentials", retry: "never", breaker: "opens" },
  },
  {
    fits: ({ httpStatus, means }) => httpStatus === 413 || means("tooLong"),
    decision: { cause: "too_long", retry: "never", breaker: "ignored" },
  },
  { fits: () => true, decision: { cause: "bad_request", retry: "never", breaker: "ignored" } },
];

/** Classifies an HTTP response that is not a result. @param nowMs to read a Retry-After with a date. */
export function classifyAnswer({ httpStatus, headers, body: text }: ProviderAnswer, nowMs: number): Failure {
  const said = readBody(text);
  const delayMs = httpStatus === 429 ? bodyDelayMs(said.body) : null;
  const means = (meaning: Meaning) => WORDS.some(({ answers }) => isSaid(answers[meaning], said));
  const answer = { httpStatus, means, namesDelay: delayMs !== null };
  const decision = RULES.find((rule) => rule.fits(answer))?.decision ?? "refused";
  if (decision === "refused") return REFUSED;
  const { cause, ...rest } = decision;
  return failure(cause, {
    ...rest,
    httpStatus,
    code: said.codes.find((code) => SAFE_CODE.test(code)) ?? null,
    retryAfterMs: longest(delayMs, retryAfterMs(headers, nowMs)),
  });
}

interface Said {
  readonly body: unknown;
  readonly codes: readonly string[];
  readonly message: string;
}

function isSaid(words: (typeof WORDS)[number]["answers"][Meaning], { codes, message }: Said): boolean {
  if (words === undefined) return false;
  return words.codes.some((code) => codes.includes(code)) || (words.sentences ?? []).some((each) => each.test(message));
}

/** Never reads the text as a whole: it may repeat what a caller wrote. */
function readBody(text: string): Said {
  const parsed = parseJson(text.slice(0, BODY_READ_MAX));
  const body: unknown = Array.isArray(parsed) ? parsed[0] : parsed; // Gemini's error format for streams
  const error = memberOf(body, "error") ?? body;
  const speakers = [error, body, ...listOf(error, "details"), ...listOf(body, "detail"), memberOf(error, "innererror")];
  const codes = speakers.flatMap((speaker) => CODE_MEMBERS.map((name) => memberOf(speaker, name)));
  const isFlagged = memberOf(memberOf(error, "metadata"), FLAGGED_INPUT) !== undefined;
  const [message = ""] = [memberOf(error, "message"), memberOf(body, "detail"), error].filter(
    (each) => typeof each === "string",
  );
  return {
    body,
    codes: [...codes.filter((code) => typeof code === "string"), ...(isFlagged ? [FLAGGED_INPUT] : [])],
    message,
  };
}

const CODE_MEMBERS = ["code", "type", "status", "reason", "error_type", "title"] as const;

function listOf(value: unknown, name: string): readonly unknown[] {
  const list = memberOf(value, name);
  return Array.isArray(list) ? list : [];
}

function bodyDelayMs(body: unknown): number | null {
  return WORDS.flatMap(({ retryDelayMs }) => retryDelayMs?.(body) ?? [])[0] ?? null;
}

function longest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}
/** Classifies a failure below HTTP. Images and videos are never requested again once bytes were sent: they may be billed. */
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

/** Classifies the failure of a started job; most providers give the reason only in prose. @param code for the operator's log. */
export function classifyJobFailure(words: string, code: string | null = null): Failure {
  const isDeclined = WORDS.some(
    ({ answers, declinedJobs }) =>
      declinedJobs.some((said) => said.test(words)) || (code !== null && answers.declined?.codes.includes(code)),
  );
  if (isDeclined) return REFUSED;
  return failure("job_failed", {
    retry: "never",
    breaker: "ignored",
    code: code !== null && SAFE_CODE.test(code) ? code : null,
  });
}

const SAFE_CODE = /^[\w.:-]{1,64}$/;

/** Longer than any deadline, and still an exact integer when a time is added to it. */
const WAIT_MS_MAX = 1e12;

/**
 * Milliseconds from `retry-after-ms` or `retry-after` (seconds or a date), at most WAIT_MS_MAX: even an absurdly large
 * number counts. Null if absent or unreadable.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | null {
  const precise = headers["retry-after-ms"];
  if (precise !== undefined && /^\d+(\.\d+)?$/.test(precise)) return boundedWait(Number(precise));
  const value = headers["retry-after"];
  if (value === undefined) return null;
  if (/^\d+(\.\d+)?$/.test(value)) return boundedWait(Number(value) * 1_000);
  const at = value.endsWith("GMT") ? Date.parse(value) : Number.NaN; // Date.parse would read "-5" as a month
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

function boundedWait(ms: number): number {
  return Math.min(Math.ceil(ms), WAIT_MS_MAX);
}
