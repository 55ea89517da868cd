import { z } from "zod";
import { SCOPES, type Scope } from "../../credentials.ts";
import { describeType, isVisible, quoteText, steeringCharacter } from "../../printable-text.ts";
import { REQUEST_LIMITS } from "../../schemas/request-limits.ts";
import { defineField, pageMembers, report, textFault, uuidField } from "../../schemas/request-fields.ts";
import { ACCOUNT_QUERY } from "../accounts.ts";
import type { Page } from "../../pages.ts";

/*
 * Fields that management API requests share. As under /v1, each reports faults in our own words.
 */

export const none = z.object({});

/** The account as a query parameter (ACCOUNT_QUERY). Admission reads it. */
export const accountQuery = z.object({ [ACCOUNT_QUERY]: uuidField(ACCOUNT_QUERY).optional() });

/** A trimmed text of 1 to `max` characters, at least one of them visible. */
export function textField(name: string, max: number): z.ZodType<string> {
  return defineField<string>({ type: "string", minLength: 1, maxLength: max }, (payload) => {
    const { value } = payload;
    if (value === undefined || value === null) {
      report(payload, { code: "required", message: `${name} is required.` });
      return;
    }
    if (typeof value !== "string") {
      report(payload, { code: "invalid_type", message: `${name} must be a string, got ${describeType(value)}.` });
      return;
    }
    const unsound = textFault(name, value);
    if (unsound !== null) {
      report(payload, unsound);
      return;
    }
    const text = value.normalize("NFC").trim();
    payload.value = text;
    const length = Array.from(text).length;
    if (length === 0) report(payload, { code: "required", message: `${name} must not be empty.` });
    else if (length > max) {
      report(payload, { code: "too_long", message: `${name} must have at most ${max} characters, got ${length}.` });
    } else if (!isVisible(text)) {
      report(payload, { code: "invalid_value", message: `${name} must contain a visible character.` });
    }
  });
}

/** The name of a person, account, key, or token. Others see it next to their own text. */
export function nameField(name: string, max: number): z.ZodType<string> {
  const schema = { type: "string", minLength: 1, maxLength: max } as const;
  return textField(name, max)
    .check((payload) => {
      const isSound = payload.issues.length === 0 && typeof payload.value === "string";
      const found = isSound ? steeringCharacter(payload.value) : null;
      if (found === null) return;
      const message = `${name} contains ${found}, an invisible character that changes how the surrounding text reads. Remove it.`;
      report(payload, { code: "invalid_text", message });
    })
    .meta(schema);
}

/** `https://…`, `www.…`: mail programs turn them into links. */
const WEB_ADDRESS = /:\/\/|\bwww\./i;

/** The name of a person or account. It appears in mails to strangers and next to public prompts. */
export function shownNameField(name: string, max: number): z.ZodType<string> {
  const schema = { type: "string", minLength: 1, maxLength: max } as const;
  return nameField(name, max)
    .check((payload) => {
      if (payload.issues.length > 0 || !WEB_ADDRESS.test(payload.value)) return;
      const message = `${name} must not contain a web address. It appears in emails and next to prompts, where readers would mistake the address for ours. Remove it.`;
      report(payload, { code: "invalid_text", message });
    })
    .meta(schema);
}

const SOURCE_LENGTH_MAX = 1024 * 1024;

/** A prompt file's text, unchanged: the author's editor shows it again. */
export function sourceField(name: string): z.ZodType<string> {
  return defineField<string>({ type: "string", maxLength: SOURCE_LENGTH_MAX }, (payload) => {
    const { value } = payload;
    if (typeof value !== "string") {
      const isMissing = value === undefined || value === null;
      const message = isMissing ? `${name} is required.` : `${name} must be a string, got ${describeType(value)}.`;
      report(payload, { code: isMissing ? "required" : "invalid_type", message });
      return;
    }
    const unsound = textFault(name, value);
    if (unsound !== null) report(payload, unsound);
    else if (value.length > SOURCE_LENGTH_MAX) {
      report(payload, { code: "too_long", message: `${name} must have at most 1,048,576 characters.` });
    }
  });
}

const EMAIL = /^[^\s@]+@[^\s@]+$/;
export const EMAIL_LENGTH_MAX = 254;

/** An email address, in lower case. */
export const emailField = defineField<string>(
  { type: "string", format: "email", maxLength: EMAIL_LENGTH_MAX },
  (payload) => {
    const { value } = payload;
    if (
      typeof value === "string" &&
      EMAIL.test(value) &&
      value.length <= EMAIL_LENGTH_MAX &&
      textFault("email", value) === null &&
      steeringCharacter(value) === null
    ) {
      payload.value = value.toLowerCase();
    } else {
      const message = "email must be an email address such as ada@example.org.";
      report(payload, { code: value === undefined ? "required" : "invalid_value", message });
    }
  },
);

const PASSWORD_LENGTH_MAX = 128;

/** A password exactly as typed: a trimmed one would not match at the next sign-in. */
export const passwordField = defineField<string>({ type: "string", maxLength: PASSWORD_LENGTH_MAX }, (payload) => {
  const { value } = payload;
  if (typeof value !== "string") {
    const isMissing = value === undefined || value === null;
    const message = isMissing ? "password is required." : `password must be a string, got ${describeType(value)}.`;
    report(payload, { code: isMissing ? "required" : "invalid_type", message });
  } else {
    const unsound = textFault("password", value);
    if (unsound !== null) report(payload, unsound);
    else if (value.length > PASSWORD_LENGTH_MAX) {
      const message = `password must have at most ${PASSWORD_LENGTH_MAX} characters.`;
      report(payload, { code: "too_long", message });
    }
  }
});

/** One of several fixed values. */
export function wordField<const Word extends string>(name: string, words: readonly Word[]): z.ZodType<Word> {
  return defineField<Word>({ type: "string", enum: [...words] }, (payload) => {
    const { value } = payload;
    if (words.some((word) => word === value)) return;
    const isMissing = value === undefined || value === null;
    const got = typeof value === "string" ? quoteText(value) : describeType(value);
    const message = isMissing ? `${name} is required.` : `${name} must be one of: ${words.join(", ")}. Got ${got}.`;
    report(payload, { code: isMissing ? "required" : "invalid_value", message });
  });
}

/** An integer in a body. */
export function integerField(name: string, [min, max]: readonly [min: number, max: number]): z.ZodType<number> {
  return defineField<number>({ type: "integer", minimum: min, maximum: max }, (payload) => {
    const { value } = payload;
    if (value === undefined || value === null) {
      report(payload, { code: "required", message: `${name} is required.` });
    } else if (!Number.isInteger(value) || Number(value) < min || Number(value) > max) {
      const got = typeof value === "number" ? String(value) : describeType(value);
      report(payload, {
        code: "invalid_value",
        message: `${name} must be an integer from ${min} to ${max}, got ${got}.`,
      });
    }
  });
}

export function booleanField(name: string): z.ZodType<boolean> {
  return defineField<boolean>({ type: "boolean" }, (payload) => {
    const { value } = payload;
    if (typeof value === "boolean") return;
    const isMissing = value === undefined || value === null;
    const message = isMissing ? `${name} is required.` : `${name} must be true or false, got ${describeType(value)}.`;
    report(payload, { code: isMissing ? "required" : "invalid_type", message });
  });
}

/** A year that PostgreSQL accepts, 0001 to 9999. It has no year 0, and later years need a sign. */
const YEAR_FORM = /^(?!0000)\d{4}-/;

/** In ISO 8601; null: not a valid time, or outside these years. */
function utcOf(text: string): string | null {
  const ms = Date.parse(text);
  const utc = Number.isNaN(ms) ? "" : new Date(ms).toISOString();
  return YEAR_FORM.test(utc) ? utc : null;
}

/** A calendar day. */
export function dayField(name: string): z.ZodType<string> {
  return defineField<string>({ type: "string", format: "date" }, (payload) => {
    const { value } = payload;
    const text = typeof value === "string" ? value : "";
    if (/^\d{4}-\d\d-\d\d$/.test(text) && utcOf(text)?.startsWith(text) === true) return;
    const message = `${name} must be a date such as 2026-11-01, got ${quoteText(text)}.`;
    report(payload, { code: "invalid_value", message });
  });
}

/** A time in ISO 8601 with an offset; undefined or null: none. Converted to UTC with three decimals. */
export function momentField(name: string): z.ZodType<string | null | undefined> {
  return defineField<string | null | undefined>({ type: ["string", "null"], format: "date-time" }, (payload) => {
    const { value } = payload;
    if (value === undefined || value === null) return;
    const utc = typeof value === "string" && /^[^T]*T.*(Z|[+-]\d\d:\d\d)$/.test(value) ? utcOf(value) : null;
    if (utc === null) {
      const message = `${name} must be a time such as 2026-12-31T23:59:59Z.`;
      report(payload, { code: "invalid_value", message });
    } else payload.value = utc;
  });
}

/** Query parameters that select a page of a list. */
export const pageQuery = z.object(pageMembers);

/** A page of a list. */
export function pageOf<Row extends z.ZodType>(row: Row): z.ZodType<Page<z.output<Row>>> {
  return z.strictObject({ rows: z.array(row).max(REQUEST_LIMITS.pageMax), hasMore: z.boolean() });
}

/** What a management token may be used for. */
export const scopesField = defineField<readonly Scope[]>(
  { type: "array", items: { type: "string", enum: [...SCOPES] }, minItems: 1, uniqueItems: true },
  (payload) => {
    const { value } = payload;
    const known: readonly unknown[] = SCOPES;
    const isList = Array.isArray(value) && value.length > 0 && value.every((scope) => known.includes(scope));
    if (isList) payload.value = SCOPES.filter((scope) => value.includes(scope));
    else {
      const message = `scopes must be a list of at least one of: ${SCOPES.join(", ")}.`;
      report(payload, { code: value === undefined ? "required" : "invalid_value", message });
    }
  },
);
