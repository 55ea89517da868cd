/**
 * Every error status of the envelope. The set is closed (specification, "Errors"). The server
 * responds from this table, the client throws from it, and the docs print it.
 */
export const ERRORS = {
  BAD_REQUEST_ERROR: { httpStatus: 400, meaning: "Malformed request.", retry: "never" },
  UNAUTHORIZED_ERROR: { httpStatus: 401, meaning: "Missing, invalid, or revoked API key.", retry: "never" },
  PAYMENT_REQUIRED_ERROR: {
    httpStatus: 402,
    meaning: "Not enough credits, or a Pro plan is required.",
    retry: "never",
  },
  NOT_FOUND_ERROR: { httpStatus: 404, meaning: "Resource not found.", retry: "never" },
  GONE_ERROR: { httpStatus: 410, meaning: "Resource no longer available.", retry: "never" },
  VALIDATION_ERROR: { httpStatus: 422, meaning: "Input failed validation.", retry: "never" },
  TOO_MANY_REQUESTS_ERROR: {
    httpStatus: 429,
    meaning: "Rate limit exceeded; Retry-After says how long to wait.",
    retry: "after-delay",
  },
  SERVER_ERROR: { httpStatus: 500, meaning: "Internal error.", retry: "backoff" },
  GATEWAY_TIMEOUT_ERROR: {
    httpStatus: 504,
    meaning: "The run did not finish within the wait time and continues. Poll it.",
    retry: "poll",
  },
} as const satisfies Record<string, ErrorEntry>;

interface ErrorEntry {
  readonly httpStatus: number;
  readonly meaning: string;
  /** `poll`: do not send the request again; read the run whose id is in `data`. */
  readonly retry: "never" | "after-delay" | "backoff" | "poll";
}

export type ErrorCode = keyof typeof ERRORS;

/** Codes that an issue of a VALIDATION_ERROR can have. The set is closed. */
export const ISSUE_CODES = [
  "required",
  "invalid_type",
  "invalid_uuid",
  "invalid_value",
  "invalid_text",
  "too_long",
  "too_many",
  "invalid_image",
  "image_count",
  "unsupported_image_type",
  "unsupported_option",
  "unsupported_option_value",
  "unknown_cursor",
  "conflict",
  "not_allowed",
] as const;
export type IssueCode = (typeof ISSUE_CODES)[number];

export interface Issue {
  /**
   * `body`, `query`, `path`, or `header`, then names and indexes. An array, because keys may contain dots and brackets.
   */
  readonly path: readonly (string | number)[];
  readonly code: IssueCode;
  readonly message: string;
}

/** The `data` of a VALIDATION_ERROR. */
export interface ValidationData {
  readonly issues: readonly Issue[];
  /** How many items of a batch cannot be run, including those beyond the listed issues; absent for other requests. */
  readonly invalidItems?: number | undefined;
}

/** Maximum number of issues in one response. */
export const ISSUES_MAX = 20;

export interface SuccessEnvelope<Data> {
  readonly status: "SUCCESS";
  readonly data: Data;
}
export interface ErrorEnvelope {
  readonly status: ErrorCode;
  readonly message: string;
  readonly data: unknown;
}
export type Envelope<Data> = SuccessEnvelope<Data> | ErrorEnvelope;
