import { z } from "zod";
import { createRunInputsSchema, IMAGE_INPUTS_SCHEMA, runOptionsField } from "./create-run.ts";
import { describeType, quoteText } from "../printable-text.ts";
import { countSchema, idSchema, timeSchema } from "./answer-fields.ts";
import { outputItemSchema } from "./runs.ts";
import { checkPageQuery, defineField, pageMembers, report, textFault, uuidField } from "./request-fields.ts";
import {
  BATCH_ITEM_STATUSES,
  BATCH_LIMITS,
  BATCH_PAUSES,
  BATCH_STATUSES,
  type Batch,
  type BatchItem,
  type BatchResult,
  type CreateBatchBody,
  type ResultLines,
} from "../batches.ts";
import type { Page, PageQuery } from "../pages.ts";

/** A short text of the caller's; absent, null, and "" are equivalent. */
function nameField(name: string, lengthMax: number): z.ZodType<string | null> {
  const schema = { type: ["string", "null"], maxLength: lengthMax };
  return defineField<string | null>(schema, (payload) => {
    const given = payload.value ?? "";
    if (typeof given !== "string") {
      const message = `${name} must be a string, got ${describeType(given)}.`;
      report(payload, { code: "invalid_type", message });
      return;
    }
    payload.value = given === "" ? null : given;
    const fault = textFault(name, given);
    if (fault !== null) report(payload, fault);
    else if (Array.from(given).length > lengthMax) {
      report(payload, { code: "too_long", message: `${name} must have at most ${lengthMax} characters.` });
    }
  }).prefault(null);
}

/**
 * One item, checked on its own: checking ten thousand at once would block the server's event loop. Its
 * inputs are checked against the prompt later.
 */
export const batchItemSchema = z.object(
  { inputs: createRunInputsSchema, key: nameField("key", BATCH_LIMITS.keyCodePointsMax) },
  { error: (issue) => `An item must be an object with inputs, got ${describeType(issue.input)}.` },
) satisfies z.ZodType<BatchItem>;

const ITEM_SCHEMA = {
  type: "object",
  properties: {
    inputs: {
      type: "object",
      properties: {
        textInputs: { type: ["object", "null"], additionalProperties: { type: "string" } },
        imageInputs: IMAGE_INPUTS_SCHEMA,
      },
    },
    key: {
      type: ["string", "null"],
      maxLength: BATCH_LIMITS.keyCodePointsMax,
      description: "Your own name for the item, unique within the batch.",
    },
  },
  required: ["inputs"],
};

/** Checks only that it is a list, and its length; `batchItemSchema` checks the items. */
const itemsField = defineField<readonly BatchItem[]>(
  { type: "array", items: ITEM_SCHEMA, minItems: 1, maxItems: BATCH_LIMITS.itemsMax },
  (payload) => {
    const { value } = payload;
    const max = BATCH_LIMITS.itemsMax.toLocaleString("en-US");
    if (value === undefined || value === null) report(payload, { code: "required", message: "items is required." });
    else if (!Array.isArray(value)) {
      report(payload, { code: "invalid_type", message: `items must be an array, got ${describeType(value)}.` });
    } else if (value.length === 0) {
      report(payload, { code: "required", message: `items is empty. Provide 1 to ${max} items.` });
    } else if (value.length > BATCH_LIMITS.itemsMax) {
      const given = value.length.toLocaleString("en-US");
      report(payload, { code: "too_many", message: `items has ${given} items; at most ${max} are accepted.` });
    }
  },
);

export const createBatchBodySchema: z.ZodType<CreateBatchBody> = z.object(
  {
    promptVersionId: uuidField("promptVersionId"),
    items: itemsField,
    runOptions: runOptionsField,
    name: nameField("name", BATCH_LIMITS.nameCodePointsMax),
  },
  { error: (issue) => `The request body must be a JSON object, got ${describeType(issue.input)}.` },
);

export const listBatchesQuerySchema = z.object(pageMembers).check(checkPageQuery) satisfies z.ZodType<PageQuery>;

const INDEX_FORM = /^[0-9]{1,9}$/;

const indexField = defineField<number | undefined>(
  { type: "integer", minimum: 0, description: "Index of the last item you have read. Results start after it." },
  (payload) => {
    const { value } = payload;
    if (typeof value !== "string") return;
    payload.value = Number(value);
    if (INDEX_FORM.test(value)) return;
    const message = `startingAfter must be the index of an item, a number from 0, got ${quoteText(value)}.`;
    report(payload, { code: "invalid_value", message });
  },
).optional();

export const batchResultsQuerySchema = z.object({ startingAfter: indexField });

export const batchSchema = z.strictObject({
  batchId: idSchema,
  name: z.string().nullable(),
  promptVersionId: idSchema,
  batchStatus: z.enum(BATCH_STATUSES),
  pause: z.strictObject({ reason: z.enum(BATCH_PAUSES), message: z.string() }).nullable(),
  counts: z.strictObject({
    total: countSchema,
    notStarted: countSchema,
    queued: countSchema,
    running: countSchema,
    succeeded: countSchema,
    failed: countSchema,
    canceled: countSchema,
  }),
  credits: countSchema,
  createdAt: timeSchema,
  finishedAt: timeSchema.nullable(),
}) satisfies z.ZodType<Batch>;

export const batchListSchema: z.ZodType<Page<Batch>> = z.strictObject({
  rows: z.array(batchSchema).max(50),
  hasMore: z.boolean(),
});

export const batchResultSchema = z.strictObject({
  index: countSchema,
  key: z.string().nullable(),
  status: z.enum(BATCH_ITEM_STATUSES),
  runId: idSchema.nullable(),
  outputs: z.array(outputItemSchema),
  credits: countSchema.nullable(),
}) satisfies z.ZodType<BatchResult>;

/** In the order in which they are sent, one per line. */
export const resultLinesSchema: z.ZodType<ResultLines> = z.strictObject({ lines: z.array(batchResultSchema) });
