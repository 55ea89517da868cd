/**
 * A fetch that checks every response against what the interface promises for all responses: a status from the closed set,
 * the contract's envelope, and the fixed headers. A test that uses it proves these rules in addition to its own.
 */
import { ERRORS } from "@promptd/contract";
import { errorEnvelopeSchema } from "@promptd/contract/schemas";
import { z } from "zod";
import { successEnvelopeSchema } from "../support/success-envelope.ts";

/** Responses that begin a session. */
const SIGNS_IN = ["/manage/v1/welcome", "/manage/v1/invitations/accept", "/manage/v1/passkeys/sign-in"];
const ARCHIVE = "application/gzip";
const RESULT_TYPES = ["application/x-ndjson; charset=utf-8", "text/csv; charset=utf-8"];
const SUCCESS_STATUSES: readonly number[] = [200, 201, 202, 204, 206, 304];
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** A 500 for a create with an unknown commit: repeated without a key, it could create a second run. */
const OUTCOME_UNKNOWN =
  /^The database connection was lost while the run was being created, so the run may or may not exist\./;
const RETRYABLE: readonly string[] = ["TOO_MANY_REQUESTS_ERROR", "SERVER_ERROR"];
const successSchema = successEnvelopeSchema(z.unknown());

/** @throws Error that names the promise that a response broke. */
export const auditedFetch: typeof globalThis.fetch = async (input, init) => {
  const response = await globalThis.fetch(input, init);
  const path = new URL(input instanceof Request ? input.url : input).pathname;
  const type = response.headers.get("content-type") ?? "";
  const isStream = response.ok && (path.endsWith("/events") || RESULT_TYPES.includes(type) || type === ARCHIVE);
  const faults = [...headerFaults(response, path), ...(isStream ? [] : await bodyFaults(response.clone()))];
  if (faults.length === 0) return response;
  throw new Error(`${init?.method ?? "GET"} ${path} answered ${response.status}: ${faults.join("; ")}`);
};

function headerFaults({ headers, status }: Response, path: string): string[] {
  const faults: string[] = [];
  if (!UUID_V7.test(headers.get("x-request-id") ?? "")) faults.push("no X-Request-Id that is a UUID v7");
  if (headers.get("x-content-type-options") !== "nosniff") faults.push("no X-Content-Type-Options: nosniff");
  if (headers.has("server") || headers.has("x-powered-by")) faults.push("it tells what it is made of");
  if (headers.has("set-cookie") && !SIGNS_IN.includes(path)) faults.push("it sets a cookie");
  if (path.startsWith("/files/") && status < 400) return faults;
  const mayBeCached = path === "/v1/resources" && status < 400;
  if (!mayBeCached && headers.get("cache-control") !== "no-store") faults.push("no Cache-Control: no-store");
  if (path.endsWith("/events") && status === 200)
    return headers.get("content-type") === "text/event-stream; charset=utf-8" ? faults : [...faults, "no events"];
  if ((path.endsWith("/results") || path.endsWith("/runs/export")) && status === 200)
    return RESULT_TYPES.includes(headers.get("content-type") ?? "") ? faults : [...faults, "neither lines nor CSV"];
  if (path.endsWith("/export") && status === 200)
    return headers.get("content-type") === ARCHIVE ? faults : [...faults, "no archive"];
  const hasBody = status !== 204 && status !== 304;
  if (hasBody && headers.get("content-type") !== "application/json; charset=utf-8") faults.push("it is not JSON");
  return faults;
}

async function bodyFaults(response: Response): Promise<string[]> {
  const { status, headers } = response;
  if (headers.get("content-type")?.startsWith("application/json") !== true) {
    return SUCCESS_STATUSES.includes(status) ? [] : ["an error without an envelope"];
  }
  const text = await response.text();
  if (text === "") return []; // HEAD
  const json: unknown = JSON.parse(text);
  if (status < 400) {
    const isSound = SUCCESS_STATUSES.includes(status) && successSchema.safeParse(json).success;
    return isSound || isOpenApi(json) ? [] : [`no success envelope: ${text}`];
  }
  const parsed = errorEnvelopeSchema.safeParse(json);
  if (!parsed.success) return [`no error envelope of the contract: ${text}`];
  const { status: code } = parsed.data;
  const faults: string[] = [];
  if (ERRORS[code].httpStatus !== status) faults.push(`${code} is not HTTP ${ERRORS[code].httpStatus}`);
  if (Object.keys(json as object).join() !== "status,message,data") faults.push("members not in their order");
  const mayRetry = RETRYABLE.includes(code) && !OUTCOME_UNKNOWN.test(parsed.data.message);
  if (headers.get("x-should-retry") !== String(mayRetry)) faults.push("a wrong x-should-retry");
  if (code === "TOO_MANY_REQUESTS_ERROR" && headers.get("retry-after") !== "1") faults.push("no Retry-After: 1");
  if (code === "UNAUTHORIZED_ERROR" && headers.get("www-authenticate") !== "Bearer") faults.push("no WWW-Authenticate");
  return faults;
}

function isOpenApi(json: unknown): boolean {
  return typeof json === "object" && json !== null && "openapi" in json;
}
