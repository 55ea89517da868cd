import { z } from "zod";
import type { Page } from "../pages.ts";
import { quoteText } from "../printable-text.ts";
import { type BatchOfRun, type ListRunsQuery, RUN_STATUSES, type RunListRow } from "../runs.ts";
import { countSchema, idSchema, timeSchema } from "./answer-fields.ts";
import { checkPageQuery, defineField, pageMembers, rawText, report } from "./request-fields.ts";
import { REQUEST_LIMITS } from "./request-limits.ts";
import { outputItemSchema } from "./runs.ts";

const TIME_FORM = /^[0-9]{1,16}$/;
/** The last moment a JavaScript Date can hold. */
const TIME_MS_MAX = 8_640_000_000_000_000;
/** From this value on, a time is in milliseconds (March 3, 1973 in milliseconds, the year 5138 in seconds). */
const MILLISECONDS_FROM = 100_000_000_000;

/** Converts `since` and `until` to milliseconds. Existing clients send either unit. */
export function unixTimeMs(time: number): number {
  return time >= MILLISECONDS_FROM ? time : time * 1000;
}

function timeField(name: string): z.ZodOptional<z.ZodType<number | undefined>> {
  const description = "Unix time. Values of 100,000,000,000 and above are milliseconds; smaller values are seconds.";
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
  checkPageQuery(payload);
  const { since, until } = payload.value;
  if (since === undefined || until === undefined) return;
  if (unixTimeMs(since) >= unixTimeMs(until)) {
    report(payload, { code: "conflict", message: "since must be earlier than until.", path: ["since"] });
  }
}

/** Which runs to list, and which page. */
export const runsFilter = {
  ...pageMembers,
  status: statusField,
  since: timeField("since"),
  until: timeField("until"),
} as const;

const INCLUDE_SCHEMA = {
  type: "string",
  enum: ["batch"],
  description: "Adds details to each run: `batch` adds the batch it belongs to.",
};

const includeField = defineField<"batch" | undefined>(INCLUDE_SCHEMA, (payload) => {
  const given = rawText(payload);
  if (given === undefined || given === "batch") return;
  report(payload, { code: "invalid_value", message: `include must be batch, got ${quoteText(given)}.` });
}).optional();

/** Reads the query string's raw values. Coercion would accept `1e1`, `0x10`, and the empty string as numbers. */
export const listRunsQuerySchema = z
  .object({ ...runsFilter, include: includeField })
  .check(checkListQuery) satisfies z.ZodType<ListRunsQuery>;

export const batchOfRunSchema: z.ZodType<BatchOfRun> = z.strictObject({
  batchId: idSchema,
  name: z.string().nullable(),
});

export const runListRowSchema = z.strictObject({
  runId: idSchema,
  promptVersionId: idSchema,
  outputs: z.array(outputItemSchema),
  runStatus: z.enum(RUN_STATUSES),
  credits: countSchema.nullable().meta({
    description: "Credits charged; 0 if the run is unfinished or failed, null if it is free.",
  }),
  runName: z.string(),
  createdAt: timeSchema,
  batch: batchOfRunSchema.nullable().optional(),
}) satisfies z.ZodType<RunListRow>;

export const runListSchema: z.ZodType<Page<RunListRow>> = z.strictObject({
  rows: z.array(runListRowSchema).max(REQUEST_LIMITS.pageMax),
  hasMore: z.boolean(),
});
