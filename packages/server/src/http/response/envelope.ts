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

/** Returns the headers that belong to an error code, wherever it is raised; the problem's own headers win. */
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

/** Generated clients retry every status from 500 up, also of a POST, unless x-should-retry forbids it. */
function isRetryable(code: ErrorCode): boolean {
  const { retry } = ERRORS[code];
  return retry === "after-delay" || retry === "backoff";
}

/** An unexpected failure: the caller gets the request id, and the log has the details. */
export function internalError(requestId: string): Problem {
  return new Problem("SERVER_ERROR", `Internal error. If it persists, report request id ${requestId}.`);
}

/** @throws Error if the envelope does not match the contract, which is a bug where the problem was raised. */
export function checkErrorEnvelope(text: string): void {
  const parsed = errorEnvelopeSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(`An error envelope breaks the contract: ${text}`, { cause: parsed.error });
}
