import type { Auth, Role, Scope } from "./credentials.ts";
import type { ErrorCode } from "./errors.ts";
import type { endpointSchemas } from "./schemas/endpoint-schemas.ts";

/** A request header that changes what an endpoint does. */
export interface HeaderEntry {
  readonly name: string;
  readonly description: string;
  /** If set, a header sent twice or in another form is a 400; `rule` ends that error's message. */
  readonly form?: { readonly pattern: RegExp; readonly rule: string };
}

/** One endpoint without its schemas, which are in `endpointSchemas` under the same name. */
export interface EndpointEntry {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: `/${string}`;
  readonly summary: string;
  readonly auth: Auth;
  /** Default: `DEFAULT_BODY_BYTES_MAX`. */
  readonly bodyBytesMax?: number;
  readonly headers?: readonly HeaderEntry[];
  /** Headers of a successful response, in addition to those that every response has. */
  readonly responseHeaders?: readonly string[];
  /** Success statuses other than 200, and when they are sent. */
  readonly otherStatuses?: Readonly<Record<number, string>>;
  /** Approximate maximum number of members in a JSON body. Default: `BODY_MEMBERS_MAX`. */
  readonly bodyMembersMax?: number;
  /** In addition to `SHARED_ERRORS`. */
  readonly errors: readonly ErrorCode[];
  /** True: a successful response is a stream of server-sent events, not an envelope; `data` describes the events. */
  readonly isStream?: boolean;
  /** True: a successful response is JSON Lines (or CSV on request), not an envelope; `data` has them as `lines`. */
  readonly isLines?: boolean;
  /** True: with `format=csv`, a successful response is CSV, not an envelope. */
  readonly isAlsoCsv?: boolean;
  /** Media type of a successful response that is a file, not an envelope; `data` is `Archive`. */
  readonly file?: "application/gzip";
  /** True: the endpoint is not part of the specification. */
  readonly isExtension?: boolean;
  /** The minimum role in the chosen account; absent: the credential alone is enough. */
  readonly role?: Role;
  /** The scope that a token needs; absent: the endpoint accepts no tokens, or needs no scope. */
  readonly scope?: Scope;
  /** True: the account needs a plan, as under /v1. Requests with an API key always need one. */
  readonly needsPlan?: boolean;
  /**
   * The path parameter, or the member of the response or of its list's rows, whose value the audit log shows as the
   * subject of a write.
   */
  readonly subject?: string;
  /**
   * Whether the audit log records it. Absent: everything except GET is recorded. False: a request that changes nothing
   * but is too long for a URL. True: a GET that must leave a trace: an export, or an operator's read of one account's
   * data.
   */
  readonly isAudited?: boolean;
}

export const DEFAULT_BODY_BYTES_MAX = 64 * 1024;
/** Parsing a million members would take seconds; the largest request for a single run has about 300. */
export const BODY_MEMBERS_MAX = 10_000;

/** The form of an Idempotency-Key. */
const IDEMPOTENCY_FORM = {
  pattern: /^[\x21-\x7e]{1,255}$/,
  rule: "must be 1 to 255 visible ASCII characters without spaces",
};

/** Errors that every endpoint with authentication may return. */
export const SHARED_ERRORS: readonly ErrorCode[] = [
  "BAD_REQUEST_ERROR",
  "UNAUTHORIZED_ERROR",
  "PAYMENT_REQUIRED_ERROR",
  "TOO_MANY_REQUESTS_ERROR",
  "SERVER_ERROR",
];

/**
 * Each API's prefix, and the credential that its unknown paths require, so that strangers cannot find out what exists.
 */
export const API_PREFIXES = { "/v1": "apiKey", "/manage/v1": ["token", "session"] } as const satisfies Record<
  string,
  Auth
>;

/**
 * Every endpoint of the API. The server mounts this table, the client calls it, and the docs and the OpenAPI
 * document print it. It contains no schemas, because the client loads it.
 */
export const ENDPOINTS = {
  createRun: {
    method: "POST",
    path: "/v1/runs",
    summary: "Create a run of a published prompt version and wait for it",
    auth: "apiKey",
    // 20 MiB of images are 26.7 MiB as Base64, or 28.1 MiB when wrapped with escaped line ends.
    bodyBytesMax: 32 * 1024 * 1024,
    headers: [
      {
        name: "Prefer",
        description:
          "wait=N: wait at most N seconds, then return 504. respond-async: return immediately, with 202 unless the run has already ended. stream: send text events from the first word.",
      },
      {
        name: "Idempotency-Key",
        description: "1 to 255 visible ASCII characters. For 24 hours, the same key returns the same run.",
        form: IDEMPOTENCY_FORM,
      },
    ],
    responseHeaders: ["Location", "Retry-After", "Preference-Applied", "Idempotent-Replayed"],
    otherStatuses: { 202: "Accepted; only with Prefer: respond-async" },
    errors: ["NOT_FOUND_ERROR", "GONE_ERROR", "VALIDATION_ERROR", "GATEWAY_TIMEOUT_ERROR"],
  },
  getRun: {
    method: "GET",
    path: "/v1/runs/:runId",
    summary: "Retrieve a run",
    auth: "apiKey",
    headers: [{ name: "Prefer", description: "wait=N: wait at most N seconds for the run to become final." }],
    responseHeaders: ["Retry-After", "Preference-Applied"],
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  followRun: {
    method: "GET",
    path: "/v1/runs/:runId/events",
    summary: "Follow a run as server-sent events until it is final",
    auth: "apiKey",
    headers: [
      {
        name: "Last-Event-ID",
        description: "The id of the last text event received. Text continues after it.",
        form: { pattern: /^\d{1,18}$/, rule: "must be the id of an event of this run, a number" },
      },
    ],
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    isStream: true,
    isExtension: true,
  },
  cancelRun: {
    method: "POST",
    path: "/v1/runs/:runId/cancel",
    summary: "Cancel a run that is not final",
    auth: "apiKey",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    isExtension: true,
  },
  listRuns: {
    method: "GET",
    path: "/v1/runs",
    summary: "List the caller's runs, newest first",
    auth: "apiKey",
    errors: ["VALIDATION_ERROR"],
  },
  createBatch: {
    method: "POST",
    path: "/v1/batches",
    summary: "Create a batch: up to 10,000 runs of one prompt version",
    auth: "apiKey",
    bodyBytesMax: 32 * 1024 * 1024,
    // 10,000 items of 20 members.
    bodyMembersMax: 200_000,
    headers: [
      {
        name: "Idempotency-Key",
        description:
          "1 to 255 visible ASCII characters. The same key returns the same batch for as long as the batch exists.",
        form: IDEMPOTENCY_FORM,
      },
    ],
    responseHeaders: ["Location", "Idempotent-Replayed"],
    otherStatuses: { 201: "Created; 200 if an earlier request with the same Idempotency-Key created the batch" },
    errors: ["NOT_FOUND_ERROR", "GONE_ERROR", "VALIDATION_ERROR"],
    isExtension: true,
  },
  getBatch: {
    method: "GET",
    path: "/v1/batches/:batchId",
    summary: "Retrieve a batch with its progress",
    auth: "apiKey",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    isExtension: true,
  },
  listBatches: {
    method: "GET",
    path: "/v1/batches",
    summary: "List the caller's batches, newest first",
    auth: "apiKey",
    errors: ["VALIDATION_ERROR"],
    isExtension: true,
  },
  getBatchResults: {
    method: "GET",
    path: "/v1/batches/:batchId/results",
    summary: "Retrieve the results of a batch's items as JSON Lines or CSV",
    auth: "apiKey",
    headers: [{ name: "Accept", description: "text/csv: CSV instead of JSON Lines." }],
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    isLines: true,
    isExtension: true,
  },
  cancelBatch: {
    method: "POST",
    path: "/v1/batches/:batchId/cancel",
    summary: "Cancel a batch: no further items start, and its unfinished runs are canceled",
    auth: "apiKey",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    isExtension: true,
  },
  resumeBatch: {
    method: "POST",
    path: "/v1/batches/:batchId/resume",
    summary: "Resume a paused batch with this request's API key",
    auth: "apiKey",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    isExtension: true,
  },
  searchPrompts: {
    method: "GET",
    path: "/v1/prompts/publish",
    summary: "Search published prompts",
    auth: "apiKey",
    errors: ["VALIDATION_ERROR"],
  },
  getPrompt: {
    method: "GET",
    path: "/v1/prompts/:promptId",
    summary: "Retrieve a prompt with its input configuration",
    auth: "apiKey",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  getPromptVersion: {
    method: "GET",
    path: "/v1/prompt-versions/:promptVersionId",
    summary: "Retrieve a prompt version with its input configuration",
    auth: "apiKey",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
  },
  resolveSlug: {
    method: "GET",
    path: "/v1/prompt-slugs/:slug",
    summary: "Retrieve the prompt version that a slug or label refers to",
    auth: "apiKey",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    isExtension: true,
  },
  listSlugs: {
    method: "GET",
    path: "/v1/prompt-slugs",
    summary: "Retrieve up to 40 prompts by slug, or the account's own prompts that have a label",
    auth: "apiKey",
    errors: ["VALIDATION_ERROR"],
    isExtension: true,
  },
  getResources: {
    method: "GET",
    path: "/v1/resources",
    summary: "List the available models and their run options",
    auth: "apiKey",
    headers: [
      {
        name: "If-None-Match",
        description: "The ETag of an earlier response. If it still matches, the response is 304.",
      },
    ],
    responseHeaders: ["ETag"],
    otherStatuses: { 304: "Not modified; only with If-None-Match" },
    errors: [],
  },
  getMe: { method: "GET", path: "/v1/me", summary: "Profile of the key's user", auth: "apiKey", errors: [] },
  getCredits: {
    method: "GET",
    path: "/v1/me/credits",
    summary: "Credits that can be spent now",
    auth: "apiKey",
    errors: [],
  },
} as const satisfies Record<keyof typeof endpointSchemas, EndpointEntry>;

export type EndpointName = keyof typeof ENDPOINTS;

export type { EndpointShapes, ShapesOf } from "./schema-types/v1-shapes.ts";
