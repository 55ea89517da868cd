import { ERRORS, type ErrorCode } from "@promptd/contract";
import { errorEnvelopeSchema } from "@promptd/contract/schemas";
import { Problem } from "../../platform/problem.ts";
import type { Headers } from "./response-headers.ts";

/** `{"status":"SUCCESS","data":...}`: exactly these members, in this order. */
export function successText(data: unknown): string {
  return JSON.stringify({ status: "SUCCESS", data });
}

export function errorText(problem: Problem): string {
  const { code, message, data } = problem;
  return JSON.stringify({ status: code, message, data });
}

/** Headers that belong to a code wherever it is raised; the problem's own headers win. */
export function problemHeaders(problem: Problem): Headers {
  const headers: Headers = { "x-should-retry": String(isRetryable(problem.code)) };
  if (problem.code === "UNAUTHORIZED_ERROR") headers["www-authenticate"] = "Bearer";
  if (problem.code === "TOO_MANY_REQUESTS_ERROR") {
    headers["retry-after"] = "1";
    headers["retry-after-ms"] = "1000";
  }
  for (const [name, value] of Object.entries(problem.headers)) headers[name.toLowerCase()] = value;
  return headers;
}

/** Generated clients repeat every status from 500 up, POST included, unless this header forbids it. */
function isRetryable(code: ErrorCode): boolean {
  const { retry } = ERRORS[code];
  return retry === "after-delay" || retry === "backoff";
}

/** An unforeseen failure: the caller learns the request id, the log the rest. */
export function internalError(requestId: string): Problem {
  return new Problem("SERVER_ERROR", `Internal error. If it persists, report request id ${requestId}.`);
}

/** @throws Error when the envelope is not one the contract knows: a bug where the problem was raised. */
export function checkErrorEnvelope(text: string): void {
  const parsed = errorEnvelopeSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(`An error envelope breaks the contract: ${text}`, { cause: parsed.error });
}
