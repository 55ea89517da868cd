import { ERRORS, type ErrorCode } from "@promptd/contract";
import { errorEnvelopeSchema } from "@promptd/contract/schemas";
import { Problem } from "../../platform/problem.ts";
import { createTimeSlice } from "../../platform/time-slice.ts";
import type { Headers } from "./response-headers.ts";

/** `{"status":"SUCCESS","data":...}`: exactly these members, in this order. */
export function successText(data: unknown): string {
  return JSON.stringify({ status: "SUCCESS", data });
}

/** Pages of lists are shorter. */
const ITEMS_MAX = 200;

/** Whether a member of the data has so many items that one `JSON.stringify` would block all other work. */
export function hasManyItems(data: unknown): data is object {
  if (typeof data !== "object" || data === null) return false;
  return Object.values(data).some((value) => Array.isArray(value) && value.length > ITEMS_MAX);
}

const PIECE_LENGTH = 65_536;

/** `successText` in pieces, between which other work runs: the check of 5,000 prompts returns 18 MB (2026-11-29). */
export async function* successPieces(data: object): AsyncGenerator<string, void, void> {
  const slice = createTimeSlice();
  let piece = "";
  for (const part of partsOf(data)) {
    piece += part;
    if (piece.length >= PIECE_LENGTH) {
      yield piece;
      piece = "";
    }
    if (slice.isOver()) await slice.yieldToEventLoop();
  }
  yield piece;
}

function* partsOf(data: object): Generator<string, void, void> {
  yield '{"status":"SUCCESS","data":{';
  const members = Object.entries(data).filter(([, value]) => value !== undefined);
  for (const [at, [name, value]] of members.entries()) {
    yield `${at === 0 ? "" : ","}${JSON.stringify(name)}:`;
    if (Array.isArray(value)) yield* itemsOf(value);
    else yield JSON.stringify(value);
  }
  yield "}}";
}

function* itemsOf(items: readonly unknown[]): Generator<string, void, void> {
  yield "[";
  for (const [at, item] of items.entries()) yield `${at === 0 ? "" : ","}${JSON.stringify(item)}`;
  yield "]";
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
