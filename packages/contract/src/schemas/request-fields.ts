import { z } from "zod";
import type { IssueCode } from "../errors.ts";
import type { PageQuery } from "../pages.ts";
import { describeType, quoteText } from "../printable-text.ts";
import { REQUEST_LIMITS } from "./request-limits.ts";

/*
 * Fields of request schemas. Each field has its own rule, so that every issue has its code and the message that the
 * caller reads. `meta` gives the JSON Schema of a defineField, because a rule in code has none.
 */

export interface Fault {
  readonly code: IssueCode;
  readonly message: string;
  readonly path?: readonly (string | number)[];
}

export interface CheckPayload {
  value: unknown;
  issues: unknown[];
}

/** `continue` lets zod continue after the first issue, so that all problems of a request are reported at once. */
export function report(payload: CheckPayload, fault: Fault): void {
  const { code, message, path = [] } = fault;
  payload.issues.push({
    code: "custom",
    message,
    path: [...path],
    params: { issue: code },
    input: payload.value,
    continue: true,
  });
}

type JsonSchema = Readonly<Record<string, unknown>>;

/** A field with its own rule: `check` may replace the value, and reports issues itself. */
export function defineField<Value>(schema: JsonSchema, check: (payload: CheckPayload) => void): z.ZodType<Value> {
  return z.custom<Value>().check(check).meta(schema);
}

/** Issue for a character that PostgreSQL cannot store: U+0000 or a lone surrogate. Null when the text is valid. */
export function textFault(what: string, text: string): Fault | null {
  if (text.includes("\u0000")) {
    return { code: "invalid_text", message: `${what} contains the character U+0000, which is not allowed.` };
  }
  if (text.isWellFormed()) return null;
  return { code: "invalid_text", message: `${what} contains a lone surrogate, which is not a valid character.` };
}

function requireString(payload: CheckPayload, name: string): string | null {
  const { value } = payload;
  if (value === undefined || value === null) report(payload, { code: "required", message: `${name} is required.` });
  else if (typeof value !== "string") {
    report(payload, { code: "invalid_type", message: `${name} must be a string, got ${describeType(value)}.` });
  } else return value;
  return null;
}

/** Any 8-4-4-4-12 form: `z.uuid()` rejects well-formed ids without an RFC version, which must return 404, not 422. */
export function uuidField(name: string): z.ZodType<string> {
  return defineField<string>({ type: "string", format: "uuid" }, (payload) => {
    const value = requireString(payload, name);
    if (value === null) return;
    if (z.regexes.guid.test(value)) payload.value = value.toLowerCase();
    else report(payload, { code: "invalid_uuid", message: `${name} must be a UUID, got ${quoteText(value)}.` });
  });
}

/** A query value as it was sent; undefined when the parameter is absent. */
export function rawText(payload: CheckPayload): string | undefined {
  return typeof payload.value === "string" ? payload.value : undefined;
}

const LIMIT_FORM = /^[0-9]{1,10}$/;

/** A page of 1 to 50 rows; default 10. */
const limitField = defineField<number | undefined>(
  { type: "integer", minimum: 1, maximum: 50, default: 10 },
  (payload) => {
    const given = rawText(payload);
    if (given === undefined) return;
    const { pageMin, pageMax } = REQUEST_LIMITS;
    const limit = LIMIT_FORM.test(given) ? Number(given) : Number.NaN;
    payload.value = limit;
    if (limit >= pageMin && limit <= pageMax) return;
    const message = `limit must be an integer from ${pageMin} to ${pageMax}, got ${quoteText(given)}.`;
    report(payload, { code: "invalid_value", message });
  },
).optional();

/** Query parameters that select a page of a list. */
export const pageMembers = {
  limit: limitField,
  startingAfter: uuidField("startingAfter").optional(),
  endingBefore: uuidField("endingBefore").optional(),
} as const;

export function checkPageQuery(payload: { value: PageQuery; issues: unknown[] }): void {
  const { startingAfter, endingBefore } = payload.value;
  if (startingAfter === undefined || endingBefore === undefined) return;
  const message = "Provide either startingAfter or endingBefore, not both.";
  report(payload, { code: "conflict", message, path: ["endingBefore"] });
}
