import { z } from "zod";
import type { ResultLines } from "../../batches.ts";
import { createRunBodySchema } from "../../schemas/create-run.ts";
import { batchOfRunSchema, checkListQuery, runsFilter } from "../../schemas/list-runs.ts";
import { countSchema, idSchema, timeSchema } from "../../schemas/answer-fields.ts";
import { outputItemSchema, runSchema } from "../../schemas/runs.ts";
import { RUN_STATUSES } from "../../runs.ts";
import { uuidField } from "../../schemas/request-fields.ts";
import { endpointSchemas, type EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
import type { ManagedRun, ManagedRunRow, RunMoment } from "../runs.ts";
import type { RunQuote } from "../system.ts";
import { accountQuery, none, pageOf, textField, wordField } from "./request-fields.ts";

export const rowMembers = {
  runId: idSchema,
  runStatus: z.enum(RUN_STATUSES),
  title: z.string(),
  promptId: idSchema,
  promptVersionId: idSchema,
  isTest: z.boolean(),
  slug: z.string(),
  model: z.string(),
  credits: countSchema.nullable(),
  attempts: countSchema,
  createdAt: timeSchema,
  startedAt: timeSchema.nullable(),
  finishedAt: timeSchema.nullable(),
  error: z.string().nullable(),
  keyId: idSchema.nullable(),
  requestId: idSchema.nullable(),
  batch: batchOfRunSchema.nullable(),
} as const;
const rowSchema: z.ZodType<ManagedRunRow> = z.strictObject(rowMembers);

const runLinesSchema: z.ZodType<ResultLines<ManagedRunRow>> = z.strictObject({ lines: z.array(rowSchema) });

export const momentSchema: z.ZodType<RunMoment> = z.strictObject({
  at: timeSchema,
  event: z.enum(["created", "started", "call", "finished"]),
  attempt: countSchema,
  endedAt: timeSchema.nullable(),
  outcome: z.string().nullable(),
});

export const receiptSchema: z.ZodType<ManagedRun["receipt"]> = z.strictObject({
  held: countSchema.nullable(),
  charged: countSchema,
  givenBack: countSchema,
  inputTokens: countSchema.nullable(),
  outputTokens: countSchema.nullable(),
});

export const namesMembers = { version: countSchema.nullable(), keyName: z.string().nullable() } as const;

const managedRunSchema: z.ZodType<ManagedRun> = z.strictObject({
  ...rowMembers,
  ...namesMembers,
  isOwnPrompt: z.boolean(),
  outputs: z.array(outputItemSchema),
  inputs: z.strictObject({ textInputs: z.record(z.string(), z.string()), images: countSchema }),
  runOptions: z.record(z.string(), z.string()),
  answeredBy: z.string().nullable(),
  timeline: z.array(momentSchema),
  receipt: receiptSchema,
});

const runId = z.object({ runId: uuidField("runId") });

const { limit, startingAfter, endingBefore, ...shared } = runsFilter;
const filter = {
  ...shared,
  promptId: uuidField("promptId").optional(),
  keyId: uuidField("keyId").optional(),
  model: textField("model", 200).optional(),
  requestId: uuidField("requestId").optional(),
  error: textField("error", 200).optional(),
} as const;
const listQuery = z.object({ limit, startingAfter, endingBefore, ...filter }).check(checkListQuery);

const exportQuery = accountQuery
  .extend({ ...filter, format: wordField("format", ["jsonl", "csv"]).optional() })
  .check(checkListQuery);

const quoteSchema: z.ZodType<RunQuote> = z.strictObject({ estimate: countSchema, hold: countSchema.nullable() });

export const runsSchemas = {
  createRun: { params: none, query: none, body: createRunBodySchema, data: runSchema },
  listRuns: { params: none, query: listQuery, body: null, data: pageOf(rowSchema) },
  exportRuns: { params: none, query: exportQuery, body: null, data: runLinesSchema },
  getRun: { params: runId, query: none, body: null, data: managedRunSchema },
  followRun: { ...endpointSchemas.followRun, query: accountQuery },
  cancelRun: { params: runId, query: none, body: null, data: runSchema },
  quoteRun: { params: none, query: none, body: createRunBodySchema, data: quoteSchema },
} satisfies Record<string, EndpointSchemas>;
