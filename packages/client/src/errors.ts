import type { ErrorCode, Issue, Run } from "@promptd/contract";

/** @throws TypeError for an invalid value from the calling program. */
export function refuse(what: string, form: string, given: string): never {
  throw new TypeError(`${what} must be ${form}, got "${given}".`);
}

/** @throws TypeError for a secret that no header can contain; its message does not contain the secret. */
export function checkSecret(what: string, secret: string): void {
  if (!/^\s*[!-~]+\s*$/.test(secret || "")) refuse(what, "text without spaces", secret && "***");
}

/** An error with details beside its message. */
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
  /** Error details: the issues of a VALIDATION_ERROR, the runId of a GATEWAY_TIMEOUT_ERROR, otherwise mostly null. */
  declare readonly data: unknown;
  /** Identifies this request in the server's log; null if a proxy removed it. */
  declare readonly requestId: string | null;
  /** How long the server asked to wait, in milliseconds; null if it did not ask. */
  declare readonly retryAfterMs: number | null;

  /** The run that continues after a GATEWAY_TIMEOUT_ERROR; null for every other error. */
  get runId(): string | null {
    const runId = this.code === "GATEWAY_TIMEOUT_ERROR" && (this.data as { runId?: unknown } | null)?.runId;
    return typeof runId === "string" ? runId : null;
  }

  /** The problems of the request, one entry each; empty unless this is a VALIDATION_ERROR. */
  get issues(): readonly Issue[] {
    const issues = this.code === "VALIDATION_ERROR" && (this.data as { issues?: unknown } | null)?.issues;
    return Array.isArray(issues) ? (issues as Issue[]) : [];
  }
}

/** No response arrived: the connection failed or broke, or `timeoutMs` passed. The server may have acted. */
export class PromptdConnectionError extends DetailedError<{ readonly timedOut: boolean; readonly cause: unknown }> {
  override readonly name = "PromptdConnectionError";
  declare readonly timedOut: boolean;
}

/** The response did not come from a promptd server; most often it is a proxy's own page. */
export class PromptdProtocolError extends DetailedError<{ readonly httpStatus: number; readonly bodyStart: string }> {
  override readonly name = "PromptdProtocolError";
  declare readonly httpStatus: number;
  /** The start of the body, so that a person can recognize the sender. */
  declare readonly bodyStart: string;
}

/** The run was created and failed; it costs nothing. */
export class PromptdRunError extends DetailedError<{ readonly run: Run; readonly requestId: string | null }> {
  override readonly name = "PromptdRunError";
  declare readonly run: Run;
  /** Identifies the request that created the run; null if a proxy removed it. */
  declare readonly requestId: string | null;
  constructor(run: Run, requestId: string | null) {
    super(run.outputs.find((item) => item.type === "error")?.data ?? "The run failed.", { run, requestId });
  }

  get runId(): string {
    return this.run.runId;
  }
}
