import { z } from "zod";
import { LABEL_FORM, SLUG_FORM, SLUG_NAME_FORM } from "./names/prompt-names.ts";
import { quoteText } from "./printable-text.ts";
import { REQUEST_LIMITS } from "./request-limits.ts";
import { RUN_STATUSES, type ListRunsQuery, type RunListRow } from "./runs.ts";
import { defineField, report, textFault, uuidField, type CheckPayload } from "./request-fields.ts";

/** A query value as it was sent; undefined when the parameter is absent. */
function rawText(payload: CheckPayload): string | undefined {
  return typeof payload.value === "string" ? payload.value : undefined;
}

const LIMIT_FORM = /^[0-9]{1,10}$/;
const TIME_FORM = /^[0-9]{1,16}$/;
/** The last moment a JavaScript Date can hold. */
const TIME_MS_MAX = 8_640_000_000_000_000;
/** From here on a time is milliseconds (3 March 1973 as milliseconds, the year 5138 as seconds). */
const MILLISECONDS_FROM = 100_000_000_000;

/** Milliseconds of `since` and `until`, which existing clients send in either unit. */
export function unixTimeMs(time: number): number {
  return time >= MILLISECONDS_FROM ? time : time * 1000;
}

export const limitField = defineField<number | undefined>(
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

function timeField(name: string): z.ZodOptional<z.ZodType<number | undefined>> {
  const description = "Unix time; 100,000,000,000 and more is milliseconds, less is seconds.";
  return defineField<number | undefined>(
    { type: "integer", minimum: 0, maximum: TIME_MS_MAX, description },
    (payload) => {
      const given = rawText(payload);
      if (given === undefined) return;
      const time = TIME_FORM.test(given) ? Number(given) : Number.NaN;
      payload.value = time;
      if (time <= TIME_MS_MAX) return;
      const message = `${name} must be a Unix timestamp such as 1795169730, got ${quoteText(given)}.`;
      report(payload, { code: "invalid_value", message });
    },
  ).optional();
}

const statusField = defineField<RunListRow["runStatus"] | undefined>(
  { type: "string", enum: [...RUN_STATUSES] },
  (payload) => {
    const given = rawText(payload);
    if (given === undefined || RUN_STATUSES.some((status) => status === given)) return;
    const message = `status must be one of: ${RUN_STATUSES.join(", ")}. Got ${quoteText(given)}.`;
    report(payload, { code: "invalid_value", message });
  },
).optional();

export function checkListQuery(payload: { value: ListRunsQuery; issues: unknown[] }): void {
  const { startingAfter, endingBefore, since, until } = payload.value;
  if (startingAfter !== undefined && endingBefore !== undefined) {
    const message = "Give startingAfter or endingBefore, not both.";
    report(payload, { code: "conflict", message, path: ["endingBefore"] });
  }
  if (since === undefined || until === undefined) return;
  if (unixTimeMs(since) >= unixTimeMs(until)) {
    report(payload, { code: "conflict", message: "since must be earlier than until.", path: ["since"] });
  }
}

/** Which runs, and which page of them. */
export const runsFilter = {
  limit: limitField,
  startingAfter: uuidField("startingAfter").optional(),
  endingBefore: uuidField("endingBefore").optional(),
  status: statusField,
  since: timeField("since"),
  until: timeField("until"),
} as const;

const INCLUDE_SCHEMA = {
  type: "string",
  enum: ["batch"],
  description: "More about each run: `batch` adds the batch that it belongs to.",
};

const includeField = defineField<"batch" | undefined>(INCLUDE_SCHEMA, (payload) => {
  const given = rawText(payload);
  if (given === undefined || given === "batch") return;
  report(payload, { code: "invalid_value", message: `include must be batch, got ${quoteText(given)}.` });
}).optional();

/** Reads the raw texts of a query string: no coercion, which would take `1e1`, `0x10` and the empty string for numbers. */
export const listRunsQuerySchema = z
  .object({ ...runsFilter, include: includeField })
  .check(checkListQuery) satisfies z.ZodType<ListRunsQuery>;

const CONTROLS = /\p{Cc}/gu;

/** No maxLength: a text that is longer before it is trimmed is accepted. */
const SEARCH_TEXT_SCHEMA = {
  type: "string",
  minLength: 1,
  pattern: "\\S",
  description: `What to search for: 1 to ${REQUEST_LIMITS.searchCodePointsMax} characters (Unicode code points). They are counted after control characters became spaces, the text was normalized (NFC), and white space at its ends was trimmed.`,
};

export const searchTextField = defineField<string>(SEARCH_TEXT_SCHEMA, (payload) => {
  const given = rawText(payload) ?? "";
  const unsound = textFault("q", given);
  if (unsound !== null) {
    report(payload, unsound);
    return;
  }
  const text = given.replace(CONTROLS, " ").normalize("NFC").trim();
  payload.value = text;
  const { searchCodePointsMax: max } = REQUEST_LIMITS;
  const length = Array.from(text).length; // no longer than the request line
  if (length === 0) {
    report(payload, { code: "required", message: `q is required: give 1 to ${max} characters to search for.` });
  } else if (length > max) {
    report(payload, { code: "too_long", message: `q must have at most ${max} characters, got ${length}.` });
  }
});

/** One page of the best, without a cursor: the specification has no pages for search. */
export const searchPromptsQuerySchema = z.object({ q: searchTextField });

export const getPromptQuerySchema = z.object({ versionId: uuidField("versionId").optional() });

/** Of a prompt: letters, digits and hyphens; capitals are read as small letters. */
export const slugField = defineField<string>({ type: "string", pattern: SLUG_FORM.source }, (payload) => {
  const given = rawText(payload) ?? "";
  payload.value = given.toLowerCase();
  if (SLUG_FORM.test(given)) return;
  const message = `slug must be letters a-z, digits and hyphens, such as tea-poem, got ${quoteText(given)}.`;
  report(payload, { code: "invalid_value", message });
});

/** Of a prompt's version: one that its author has set, or `latest`. */
export const labelQueryField = defineField<string>({ type: "string", pattern: LABEL_FORM.source }, (payload) => {
  const given = rawText(payload) ?? "";
  if (LABEL_FORM.test(given)) return;
  const message = `label must be 1 to 40 letters a-z, digits and hyphens, beginning with a letter, got ${quoteText(given)}.`;
  report(payload, { code: "invalid_value", message });
});

export const labelQuerySchema = z.object({ label: labelQueryField.optional() });

/** A comma list; a name that stands in it twice counts once. */
const slugsField = defineField<string | undefined>(
  { type: "string", description: `Up to ${REQUEST_LIMITS.slugsMax} slugs, or slug@label, separated by commas.` },
  (payload) => {
    const given = rawText(payload);
    if (given === undefined) return;
    const names = slugNames(given);
    const wrong = names.find((name) => !SLUG_NAME_FORM.test(name));
    const { slugsMax: max } = REQUEST_LIMITS;
    if (names.length > max) {
      report(payload, { code: "too_many", message: `slugs takes ${max} names at most, got ${names.length}.` });
    } else if (names.length === 0 || wrong !== undefined) {
      const message = `slugs must be a comma list of slugs such as tea-poem,cat-poem@production, got ${quoteText(wrong ?? given)}.`;
      report(payload, { code: "invalid_value", message });
    }
  },
).optional();

/** Names of a comma list, in small letters. */
export function slugNames(list: string): string[] {
  return [...new Set(list.split(",").map((name) => name.trim().toLowerCase()))].filter((name) => name !== "");
}

export const slugsQuerySchema = z.object({ slugs: slugsField, label: labelQueryField.optional() }).check((payload) => {
  if (payload.value.slugs !== undefined || payload.value.label !== undefined) return;
  report(payload, { code: "required", message: "Give slugs, label, or both.", path: ["slugs"] });
});
