import { ERRORS, ISSUES_MAX, type ErrorCode, type Issue } from "@promptd/contract";

/**
 * A failure that the caller is meant to see: `message` and `data` are sent as they are. Anything else that is thrown is
 * a bug or an outage: it is logged in full and answered with a bare SERVER_ERROR.
 */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ErrorCode;
  /** Context for the caller, such as the issues of a 422 or the runId of a 504; null: none. */
  readonly data: unknown;
  /** Extra response headers, such as Retry-After. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { data?: unknown; headers?: Readonly<Record<string, string>>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.data = options.data ?? null;
    this.headers = options.headers ?? {};
  }

  get httpStatus(): number {
    return ERRORS[this.code].httpStatus;
  }
}

export function badRequest(message: string): Problem {
  return new Problem("BAD_REQUEST_ERROR", message);
}

const MESSAGE_LENGTH_MAX = 1_000;

/**
 * Reports all problems of one stage at once. The message joins their messages, for callers who print only `message`.
 */
export function invalid(issues: readonly Issue[]): Problem {
  const listed = issues.slice(0, ISSUES_MAX);
  const joined = [...new Set(listed.map((issue) => issue.message))].join(" ");
  const message =
    joined.length > MESSAGE_LENGTH_MAX ? `${joined.slice(0, MESSAGE_LENGTH_MAX - 1).toWellFormed()}…` : joined;
  return new Problem("VALIDATION_ERROR", message, { data: { issues: listed } });
}

/**
 * Also used for what belongs to another account: the response must be byte for byte the same as if it did not exist.
 * @param hint a sentence about what everyone may see.
 */
export function notFound(what: string, id: string, hint: string | null = null): Problem {
  const sentence = `No ${what} has the id ${id.toLowerCase()}.`;
  return new Problem("NOT_FOUND_ERROR", hint === null ? sentence : `${sentence} ${hint}`);
}

/** Returns what was found by an id. @throws Problem if nothing was found. */
export function orNotFound<Value>(found: Value | null, what: string, id: string): Value {
  if (found === null) throw notFound(what, id);
  return found;
}
