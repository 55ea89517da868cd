import type { ErrorCode, Issue, Run } from "@promptd/contract";

/** @throws TypeError for a value that a program has given. */
export function refuse(what: string, form: string, given: string): never {
  throw new TypeError(`${what} must be ${form}, got "${given}".`);
}

/** An error with what is known of it beside its message. */
abstract class DetailedError<Details extends object> extends Error {
  constructor(message: string, details: Details) {
    super(message);
    Object.assign(this, details);
  }
}

interface PromptdErrorDetails {
  readonly code: ErrorCode;
  readonly httpStatus: number;
  readonly data: unknown;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
}

/** The server answered with an error envelope. */
export class PromptdError extends DetailedError<PromptdErrorDetails> {
  override readonly name = "PromptdError";
  declare readonly code: ErrorCode;
  declare readonly httpStatus: number;
  /** Context of the error: issues of a VALIDATION_ERROR, the runId of a GATEWAY_TIMEOUT_ERROR, else mostly null. */
  declare readonly data: unknown;
  /** Names this request in the server's log; null when a proxy took it away. */
  declare readonly requestId: string | null;
  /** How long the server asked to wait, in milliseconds; null when it did not. */
  declare readonly retryAfterMs: number | null;

  /** The run that goes on after a GATEWAY_TIMEOUT_ERROR; null for every other error. */
  get runId(): string | null {
    const runId = this.code === "GATEWAY_TIMEOUT_ERROR" && (this.data as { runId?: unknown } | null)?.runId;
    return typeof runId === "string" ? runId : null;
  }

  /** What is wrong with the request, one entry per fault; empty unless this is a VALIDATION_ERROR. */
  get issues(): readonly Issue[] {
    const issues = this.code === "VALIDATION_ERROR" && (this.data as { issues?: unknown } | null)?.issues;
    return Array.isArray(issues) ? (issues as Issue[]) : [];
  }
}

/** No answer arrived: no connection, a broken one, or `timeoutMs` passed. Whether the server acted is unknown. */
export class PromptdConnectionError extends DetailedError<{ readonly timedOut: boolean; readonly cause: unknown }> {
  override readonly name = "PromptdConnectionError";
  declare readonly timedOut: boolean;
}

/** An answer arrived that no promptd server gives, most often a proxy's own page. */
export class PromptdProtocolError extends DetailedError<{ readonly httpStatus: number; readonly bodyStart: string }> {
  override readonly name = "PromptdProtocolError";
  declare readonly httpStatus: number;
  /** The first characters of the body, for a person to recognise who answered. */
  declare readonly bodyStart: string;
}

/** The run was made and failed; it costs nothing. */
export class PromptdRunError extends DetailedError<{ readonly run: Run; readonly requestId: string | null }> {
  override readonly name = "PromptdRunError";
  declare readonly run: Run;
  /** Names the request that created the run; null when a proxy took it away. */
  declare readonly requestId: string | null;
  constructor(run: Run, requestId: string | null) {
    super(run.outputs.find((item) => item.type === "error")?.data ?? "The run failed.", { run, requestId });
  }

  get runId(): string {
    return this.run.runId;
  }
}
