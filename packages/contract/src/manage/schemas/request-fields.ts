import { z } from "zod";
import { SCOPES, type Scope } from "../../credentials.ts";
import { describeType, isVisible, quoteText, steeringCharacter } from "../../printable-text.ts";
import { REQUEST_LIMITS } from "../../schemas/request-limits.ts";
import { defineField, pageMembers, report, textFault, uuidField } from "../../schemas/request-fields.ts";
import { ACCOUNT_QUERY } from "../accounts.ts";
import type { Page } from "../../pages.ts";

/*
 * Fields that requests of the management API share. Like those of /v1 each reports its faults in our own words.
 */

export const none = z.object({});

/** The account in the query (ACCOUNT_QUERY); admission reads it. */
export const accountQuery = z.object({ [ACCOUNT_QUERY]: uuidField(ACCOUNT_QUERY).optional() });

/** A text of a body, trimmed, of 1 to `max` characters, one of them visible. */
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
      report(payload, { code: "invalid_value", message: `${name} must have a character that can be seen.` });
    }
  });
}

/** What a person, an account, a key or a token is called: others read it beside their own words. */
export function nameField(name: string, max: number): z.ZodType<string> {
  const schema = { type: "string", minLength: 1, maxLength: max } as const;
  return textField(name, max)
    .check((payload) => {
      const isSound = payload.issues.length === 0 && typeof payload.value === "string";
      const found = isSound ? steeringCharacter(payload.value) : null;
      if (found === null) return;
      const message = `${name} contains ${found}, a character that cannot be seen and changes how the text around it reads. Leave it out.`;
      report(payload, { code: "invalid_text", message });
    })
    .meta(schema);
}

/** `https://…`, `www.…`: mail programs make links of them. */
const WEB_ADDRESS = /:\/\/|\bwww\./i;

/** The name of a person or an account, which stands in mails to strangers and beside public prompts. */
export function shownNameField(name: string, max: number): z.ZodType<string> {
  const schema = { type: "string", minLength: 1, maxLength: max } as const;
  return nameField(name, max)
    .check((payload) => {
      if (payload.issues.length > 0 || !WEB_ADDRESS.test(payload.value)) return;
      const message = `${name} must not contain a web address: it stands in mails and beside prompts, where readers would take it for ours. Leave the address out.`;
      report(payload, { code: "invalid_text", message });
    })
    .meta(schema);
}

const SOURCE_LENGTH_MAX = 1024 * 1024;

/** The text of a prompt file, as it is: an author's editor shows it again. */
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
      textFault("email", value) === null
    ) {
      payload.value = value.toLowerCase();
    } else {
      const message = "email must be an email address such as ada@example.org.";
      report(payload, { code: value === undefined ? "required" : "invalid_value", message });
    }
  },
);

const PASSWORD_LENGTH_MAX = 128;

/** A password, as it is typed: one that were trimmed here would not be the one of the next sign-in. */
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

/** One of several words. */
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

/** A whole number of a body. */
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

/** A year as PostgreSQL reads it, from 0001 to 9999: it has no year 0, and later ones are written with a sign. */
const YEAR_FORM = /^(?!0000)\d{4}-/;

/** In ISO 8601; null: no moment, or not of these years. */
function utcOf(text: string): string | null {
  const ms = Date.parse(text);
  const utc = Number.isNaN(ms) ? "" : new Date(ms).toISOString();
  return YEAR_FORM.test(utc) ? utc : null;
}

/** A day of the calendar. */
export function dayField(name: string): z.ZodType<string> {
  return defineField<string>({ type: "string", format: "date" }, (payload) => {
    const { value } = payload;
    const text = typeof value === "string" ? value : "";
    if (/^\d{4}-\d\d-\d\d$/.test(text) && utcOf(text)?.startsWith(text) === true) return;
    const message = `${name} must be a day such as 2026-11-01, got ${quoteText(text)}.`;
    report(payload, { code: "invalid_value", message });
  });
}

/** A moment in ISO 8601 with its offset; undefined and null: none. Becomes UTC with three decimals. */
export function momentField(name: string): z.ZodType<string | null | undefined> {
  return defineField<string | null | undefined>({ type: ["string", "null"], format: "date-time" }, (payload) => {
    const { value } = payload;
    if (value === undefined || value === null) return;
    const utc = typeof value === "string" && /T.*(Z|[+-]\d\d:\d\d)$/.test(value) ? utcOf(value) : null;
    if (utc === null) {
      const message = `${name} must be a moment such as 2026-12-31T23:59:59Z.`;
      report(payload, { code: "invalid_value", message });
    } else payload.value = utc;
  });
}

/** The query of a list: which page of it. */
export const pageQuery = z.object(pageMembers);

/** The answer of a list. */
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
