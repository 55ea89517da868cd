import type { ErrorCode, Issue, Run } from "@promptd/contract";

/** The server answered with an error envelope. */
export class PromptdError extends Error {
  override readonly name = "PromptdError";
  readonly code: ErrorCode;
  readonly httpStatus: number;
  /** Context of the error: issues of a VALIDATION_ERROR, the runId of a GATEWAY_TIMEOUT_ERROR, else mostly null. */
  readonly data: unknown;
  /** Names this request in the server's log; null when a proxy took it away. */
  readonly requestId: string | null;
  /** How long the server asked to wait, in milliseconds; null when it did not. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    details: Pick<PromptdError, "code" | "httpStatus" | "data" | "requestId" | "retryAfterMs">,
  ) {
    super(message);
    this.code = details.code;
    this.httpStatus = details.httpStatus;
    this.data = details.data;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
  }

  /** The run that goes on after a GATEWAY_TIMEOUT_ERROR; null for every other error. */
  get runId(): string | null {
    const runId = this.code === "GATEWAY_TIMEOUT_ERROR" ? memberOf(this.data, "runId") : null;
    return typeof runId === "string" ? runId : null;
  }

  /** What is wrong with the request, one entry per fault; empty unless this is a VALIDATION_ERROR. */
  get issues(): readonly Issue[] {
    const issues = this.code === "VALIDATION_ERROR" ? memberOf(this.data, "issues") : null;
    return Array.isArray(issues) ? (issues as Issue[]) : [];
  }
}

/** No answer arrived: no connection, a broken one, or `timeoutMs` passed. Whether the server acted is unknown. */
export class PromptdConnectionError extends Error {
  override readonly name = "PromptdConnectionError";
  readonly timedOut: boolean;
  constructor(message: string, options: { timedOut: boolean; cause: unknown }) {
    super(message, { cause: options.cause });
    this.timedOut = options.timedOut;
  }
}

/** An answer arrived that no promptd server gives, most often a proxy's own page. */
export class PromptdProtocolError extends Error {
  override readonly name = "PromptdProtocolError";
  readonly httpStatus: number;
  /** The first characters of the body, for a person to recognise who answered. */
  readonly bodyStart: string;
  constructor(message: string, details: { httpStatus: number; bodyStart: string }) {
    super(message);
    this.httpStatus = details.httpStatus;
    this.bodyStart = details.bodyStart;
  }
}

/** The run was made and failed; it costs nothing. */
export class PromptdRunError extends Error {
  override readonly name = "PromptdRunError";
  readonly run: Run;
  /** Names the request that created the run; null when a proxy took it away. */
  readonly requestId: string | null;
  constructor(run: Run, requestId: string | null) {
    super(run.outputs.find((item) => item.type === "error")?.data ?? "The run failed.");
    this.run = run;
    this.requestId = requestId;
  }

  get runId(): string {
    return this.run.runId;
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
