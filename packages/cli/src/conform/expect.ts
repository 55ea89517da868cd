/** Expectations about responses. Each throws a Mismatch that says what was expected. */
import { ERRORS, ID_FORM, listWords, type ErrorCode } from "@promptd/contract";
import { Mismatch, type Exchange } from "./check.ts";

export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The payload of a successful response. */
export function expectSuccess(exchange: Exchange): unknown {
  const { httpStatus, json } = exchange.response;
  if (httpStatus === 200 && isObject(json) && json["status"] === "SUCCESS" && "data" in json) return json["data"];
  throw new Mismatch('HTTP 200 with {"status":"SUCCESS","data":…}', exchange);
}

export function expectData(exchange: Exchange): Json {
  const data = expectSuccess(exchange);
  if (isObject(data)) return data;
  throw new Mismatch("an object as data", exchange);
}

export function expectRows(exchange: Exchange): Json[] {
  const { rows } = expectData(exchange);
  if (Array.isArray(rows) && rows.every(isObject)) return rows;
  throw new Mismatch("data.rows as an array of objects", exchange);
}

/** Expects an error envelope with one of these codes and the HTTP status of that code. */
export function expectError(exchange: Exchange, ...codes: readonly ErrorCode[]): Json {
  const { httpStatus, json } = exchange.response;
  const code = codes.find((one) => ERRORS[one].httpStatus === httpStatus);
  const statuses = codes.map((one) => `HTTP ${ERRORS[one].httpStatus} with the status ${one}`);
  const expected = listWords(statuses, "or");
  if (code === undefined || !isObject(json) || json["status"] !== code) throw new Mismatch(expected, exchange);
  if (typeof json["message"] === "string" && json["message"] !== "") return json;
  throw new Mismatch("a message that describes the failure", exchange);
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** What a field must be, and how to describe it. */
export interface Form {
  readonly is: (value: unknown) => boolean;
  readonly words: string;
}

export const FORMS = {
  uuid: { is: (value) => typeof value === "string" && ID_FORM.test(value), words: "a UUID" },
  text: { is: (value) => typeof value === "string", words: "a string" },
  textOrNull: { is: (value) => value === null || typeof value === "string", words: "a string or null" },
  integer: { is: (value) => Number.isInteger(value), words: "an integer" },
  integerOrNull: { is: (value) => value === null || Number.isInteger(value), words: "an integer or null" },
  count: { is: (value) => Number.isInteger(value) && Number(value) >= 0, words: "an integer, 0 or more" },
  time: { is: (value) => typeof value === "string" && ISO_TIME.test(value), words: "an ISO 8601 time" },
  object: { is: isObject, words: "an object" },
  array: { is: (value) => Array.isArray(value), words: "an array" },
  boolean: { is: (value) => typeof value === "boolean", words: "true or false" },
  runStatus: {
    is: (value) => ["queued", "running", "succeeded", "failed"].includes(String(value)),
    words: "queued, running, succeeded, or failed",
  },
  searchedModality: { is: (value) => value === 0 || value === 1, words: "0 (text) or 1 (image)" },
  modality: {
    is: (value) => ["text", "image", "video"].includes(String(value)),
    words: "text, image, or video",
  },
  hash: {
    is: (value) => typeof value === "string" && /^[A-Za-z0-9_-]+$/.test(value),
    words: "a Base64url string",
  },
} as const satisfies Record<string, Form>;

export function expectField(value: Json, name: string, form: Form, exchange: Exchange): void {
  if (!form.is(value[name])) throw new Mismatch(`${name} as ${form.words}`, exchange);
}

export function expectThat(isTrue: boolean, expected: string, exchange: Exchange | null): void {
  if (!isTrue) throw new Mismatch(expected, exchange);
}
