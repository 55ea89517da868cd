import { z } from "zod";
import { countSchema, idSchema, timeSchema } from "../../schemas/answer-fields.ts";
import { checkPageQuery, defineField, report } from "../../schemas/request-fields.ts";
import type { EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
import { JOURNAL_KINDS, type JournalEntry, type ManagedCredits } from "../credits.ts";
import type { ManagedModel, ModelSwitchBody, ModelTest, ModelTestBody } from "../system.ts";
import { booleanField, none, pageOf, pageQuery, textField } from "./request-fields.ts";

export const creditsSchema: z.ZodType<ManagedCredits> = z.strictObject({
  available: z.int(),
  held: countSchema,
  posted: countSchema,
  frozen: z.strictObject({ since: timeSchema, reason: z.string().nullable() }).nullable(),
});

const journalSchema: z.ZodType<JournalEntry> = z.strictObject({
  entryId: z.string().regex(/^\d+$/),
  at: timeSchema,
  kind: z.enum(JOURNAL_KINDS),
  amount: countSchema,
  creditsAfter: z.int(),
  runId: idSchema.nullable(),
  title: z.string().nullable(),
  reason: z.string().nullable(),
  expiresAt: timeSchema.nullable(),
});

/** Journal rows are numbered in the order in which they were written. */
function entryField(name: string) {
  return defineField<string | undefined>({ type: "string", pattern: "^\\d{1,18}$" }, (payload) => {
    const { value } = payload;
    if (value === undefined || (typeof value === "string" && /^\d{1,18}$/.test(value))) return;
    report(payload, { code: "invalid_value", message: `${name} must be the entryId of a journal row.` });
  }).optional();
}

const journalQuery = z
  .object({
    limit: pageQuery.shape.limit,
    startingAfter: entryField("startingAfter"),
    endingBefore: entryField("endingBefore"),
  })
  .check(checkPageQuery);

const modelSchema: z.ZodType<ManagedModel> = z.strictObject({
  model: z.string(),
  modality: z.string(),
  provider: z.string(),
  status: z.string(),
  retiresAt: z.string().nullable(),
  successor: z.string().nullable(),
  enabled: z.boolean(),
  isOff: z.boolean(),
  price: z.string(),
});

const modelTestSchema: z.ZodType<ModelTest> = z.strictObject({
  model: z.string(),
  isAnswered: z.boolean(),
  tookMs: countSchema,
  costCredits: z.number().min(0),
  text: z.string().nullable(),
  pictureBytes: countSchema.nullable(),
  cause: z.string().nullable(),
  httpStatus: z.int().nullable(),
  providerCode: z.string().nullable(),
});

export const creditsAndModelsSchemas = {
  getCredits: { params: none, query: none, body: null, data: creditsSchema },
  listJournal: { params: none, query: journalQuery, body: null, data: pageOf(journalSchema) },
  listModels: { params: none, query: none, body: null, data: z.strictObject({ models: z.array(modelSchema) }) },
  switchModel: {
    params: none,
    query: none,
    body: z.object({
      model: textField("model", 200),
      isOff: booleanField("isOff"),
    }) satisfies z.ZodType<ModelSwitchBody>,
    data: modelSchema,
  },
  testModel: {
    params: none,
    query: none,
    body: z.object({ model: textField("model", 200) }) satisfies z.ZodType<ModelTestBody>,
    data: modelTestSchema,
  },
} satisfies Record<string, EndpointSchemas>;
