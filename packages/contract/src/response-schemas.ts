import { z } from "zod";
import { ROLES, SCOPES, type Credits, type Me, type Unauthorized } from "./accounts.ts";
import { ISSUE_CODES, ISSUES_MAX, type ErrorEnvelope, type Issue } from "./errors.ts";
import type { ModelEntry, Resources } from "./models.ts";
import {
  MODALITIES,
  type NamedPrompts,
  type PromptConfig,
  type PromptSamples,
  type PromptVersion,
  type SearchResult,
  type SearchRow,
  type SlugVersion,
} from "./prompts.ts";
import { REQUEST_LIMITS } from "./request-limits.ts";
import {
  OUTPUT_TYPES,
  RUN_STATUSES,
  type EventStream,
  type ImageInput,
  type OutputItem,
  type Run,
  type RunEvent,
  type RunList,
  type BatchOfRun,
  type RunListRow,
} from "./runs.ts";

/*
 * Responses: strict objects with exactly the specified members, used by tests, clients and the OpenAPI document.
 */

/** UTC, always three decimals. */
export const timeSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  .meta({ format: "date-time" });
/** Emitted in lower case. */
export const idSchema = z
  .guid()
  .refine((id) => id === id.toLowerCase(), "ids are emitted in lower case")
  .meta({ format: "uuid" });
export const countSchema = z.int().min(0);

export const outputItemSchema = z.strictObject({
  type: z.enum(OUTPUT_TYPES),
  data: z.string(),
}) satisfies z.ZodType<OutputItem>;

export const runSchema: z.ZodType<Run> = z.strictObject({
  runId: idSchema,
  outputs: z.array(outputItemSchema),
  runStatus: z.enum(RUN_STATUSES),
  tokens: countSchema,
});

const runEventSchema: z.ZodType<RunEvent> = z.discriminatedUnion("event", [
  z.strictObject({
    event: z.literal("status"),
    data: z.strictObject({ runId: idSchema, runStatus: z.enum(RUN_STATUSES) }),
  }),
  z.strictObject({
    event: z.literal("text"),
    id: z.string(),
    data: z.strictObject({ index: countSchema, call: countSchema, text: z.string() }),
  }),
  z.strictObject({ event: z.literal("output"), data: outputItemSchema.extend({ index: countSchema }) }),
  z.strictObject({ event: z.literal("done"), data: runSchema }),
]);

/** In the order in which they are sent. */
export const runEventStreamSchema: z.ZodType<EventStream> = z.strictObject({ events: z.array(runEventSchema) });

export const batchOfRunSchema: z.ZodType<BatchOfRun> = z.strictObject({
  batchId: idSchema,
  name: z.string().nullable(),
});

export const runListRowSchema = z.strictObject({
  runId: idSchema,
  promptVersionId: idSchema,
  outputs: z.array(outputItemSchema),
  runStatus: z.enum(RUN_STATUSES),
  credits: countSchema.nullable(),
  runName: z.string(),
  createdAt: timeSchema,
  batch: batchOfRunSchema.nullable().optional(),
}) satisfies z.ZodType<RunListRow>;

export const runListSchema: z.ZodType<RunList> = z.strictObject({
  rows: z.array(runListRowSchema).max(REQUEST_LIMITS.pageMax),
  hasMore: z.boolean(),
});

const textInputFieldSchema = z.strictObject({
  position: countSchema,
  type: z.enum(["text", "select", "number", "boolean", "date", "list"]),
  label: z.string(),
  description: z.string(),
  required: z.boolean(),
  allowEmpty: z.boolean(),
  default: z.string().nullable(),
  maxLength: countSchema.nullable(),
  options: z.array(z.string()).nullable(),
  multiple: z.strictObject({ min: countSchema, max: countSchema }).nullable(),
  min: z.number().optional(),
  max: z.number().optional(),
});

export const promptConfigSchema = z.strictObject({
  textInputs: z.record(z.string(), textInputFieldSchema),
  imageInputs: z.array(z.strictObject({ position: countSchema, label: z.string(), description: z.string() })),
  imageCount: countSchema,
  model: z.string(),
  modality: z.enum(MODALITIES),
  runOptions: z.record(z.string(), z.strictObject({ default: z.string().nullable(), options: z.array(z.string()) })),
  output: z.strictObject({
    type: z.enum(MODALITIES),
    schema: z.record(z.string(), z.unknown()).optional(),
  }),
  webSearch: z.strictObject({ searchesMax: countSchema }).optional(),
  inputSchema: z.record(z.string(), z.unknown()),
  estimatedCredits: countSchema,
  creditsRequired: countSchema,
}) satisfies z.ZodType<PromptConfig>;

const promptVersionMembers = {
  promptVersionId: idSchema,
  promptId: idSchema,
  title: z.string(),
  publishedAt: timeSchema,
  config: promptConfigSchema,
} as const;
export const promptVersionSchema: z.ZodType<PromptVersion> = z.strictObject(promptVersionMembers);
export const slugVersionSchema: z.ZodType<SlugVersion> = z.strictObject({
  slug: z.string(),
  label: z.string().nullable(),
  ...promptVersionMembers,
});
export const namedPromptsSchema: z.ZodType<NamedPrompts> = z.strictObject({
  rows: z
    .array(
      z.strictObject({
        slug: z.string(),
        label: z.string().nullable(),
        description: z.string(),
        ...promptVersionMembers,
      }),
    )
    .max(REQUEST_LIMITS.slugsMax),
  missing: z.array(z.string()).max(REQUEST_LIMITS.slugsMax),
});

const imageInputSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("url"), url: z.string() }),
  z.strictObject({ type: z.literal("base64"), base64: z.string() }),
]) satisfies z.ZodType<ImageInput>;

const samplesSchema = z.strictObject({
  inputs: z.strictObject({
    textInputs: z.record(z.string(), z.string()),
    imageInputs: z.array(imageInputSchema),
  }),
  outputs: z.array(outputItemSchema),
}) satisfies z.ZodType<PromptSamples>;

export const searchRowMembers = {
  promptId: idSchema,
  promptVersionId: idSchema,
  title: z.string(),
  description: z.string(),
  slug: z.string(),
  model: countSchema,
  modality: z.int().min(0).max(1),
  estimatedCredits: countSchema,
  uses: countSchema,
  upVotes: countSchema,
  publishedAt: timeSchema,
  samples: samplesSchema,
  configs: promptConfigSchema,
} as const;

export const searchRowSchema = z.strictObject(searchRowMembers) satisfies z.ZodType<SearchRow>;

export const searchResultSchema: z.ZodType<SearchResult> = z.strictObject({
  rows: z.array(searchRowSchema).max(20),
});

export const modelEntrySchema = z.strictObject({
  model: z.string(),
  modality: z.enum(MODALITIES),
  availableRunOptions: z.array(z.strictObject({ key: z.string(), options: z.array(z.string()) })),
}) satisfies z.ZodType<ModelEntry>;

export const resourcesSchema: z.ZodType<Resources> = z.strictObject({
  hash: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  resources: z.strictObject({ models: z.array(modelEntrySchema) }),
});

export const meSchema = z.strictObject({
  username: z.string().nullable(),
  displayName: z.string().nullable(),
  userFlags: countSchema,
}) satisfies z.ZodType<Me>;

export const creditsSchema = z.strictObject({ credits: z.int() }) satisfies z.ZodType<Credits>;

export const issueSchema = z.strictObject({
  path: z.tuple([z.enum(["body", "query", "path", "header"])], z.union([z.string(), z.int()])),
  code: z.enum(ISSUE_CODES),
  message: z.string().min(1),
}) satisfies z.ZodType<Issue>;

export function errorOf<Code extends string, Data extends z.ZodType>(code: Code, data: Data) {
  return z.strictObject({ status: z.literal(code), message: z.string().min(1).max(1_000), data });
}

const tooLargeSchema = z.strictObject({ reason: z.literal("BODY_TOO_LARGE"), maxBytes: z.int() });
const paymentSchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("PLAN_REQUIRED") }),
  z.strictObject({ reason: z.literal("PLAN_LAPSED") }),
  z.strictObject({ reason: z.literal("ACCOUNT_FROZEN") }),
  z.strictObject({
    reason: z.literal("INSUFFICIENT_CREDITS"),
    required: z.int(),
    available: z.int(),
    estimated: z.int(),
  }),
  z.strictObject({
    reason: z.literal("KEY_CAP_REACHED"),
    required: z.int(),
    left: z.int(),
    opensAt: z.iso.datetime(),
  }),
]);
const goneSchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("MODEL_RETIRED"), model: z.string() }),
  z.strictObject({ reason: z.literal("FILE_EXPIRED") }),
  z.strictObject({ reason: z.literal("API_VERSION_RETIRED") }),
]);
const tooManySchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("TOO_MANY_ACTIVE_RUNS"), limit: z.int() }),
  z.strictObject({ reason: z.literal("TOO_MANY_BATCHES"), limit: z.int() }),
  z.strictObject({ reason: z.literal("SERVER_BUSY") }),
]);

/** One error envelope per code, with the context its `data` may hold. */
export const ERROR_SCHEMAS = {
  BAD_REQUEST_ERROR: errorOf("BAD_REQUEST_ERROR", tooLargeSchema.nullable()),
  UNAUTHORIZED_ERROR: errorOf("UNAUTHORIZED_ERROR", z.null()),
  PAYMENT_REQUIRED_ERROR: errorOf("PAYMENT_REQUIRED_ERROR", paymentSchema),
  NOT_FOUND_ERROR: errorOf("NOT_FOUND_ERROR", z.null()),
  GONE_ERROR: errorOf("GONE_ERROR", goneSchema),
  VALIDATION_ERROR: errorOf(
    "VALIDATION_ERROR",
    z.strictObject({ issues: z.array(issueSchema).min(1).max(ISSUES_MAX) }),
  ),
  TOO_MANY_REQUESTS_ERROR: errorOf("TOO_MANY_REQUESTS_ERROR", tooManySchema.nullable()),
  SERVER_ERROR: errorOf("SERVER_ERROR", z.null()),
  GATEWAY_TIMEOUT_ERROR: errorOf("GATEWAY_TIMEOUT_ERROR", z.strictObject({ runId: idSchema })),
} as const;

/** Of the management API, which says with a 401 what would be needed instead. */
export const unauthorizedSchema = z.discriminatedUnion("reason", [
  z.strictObject({ reason: z.literal("SIGN_IN_REQUIRED") }),
  z.strictObject({ reason: z.literal("WRONG_CREDENTIAL"), expected: z.array(z.enum(["session", "token"])) }),
  z.strictObject({ reason: z.literal("SCOPE_REQUIRED"), scope: z.enum(SCOPES) }),
  z.strictObject({ reason: z.literal("ROLE_REQUIRED"), role: z.enum(ROLES) }),
]) satisfies z.ZodType<Unauthorized>;

export const errorEnvelopeSchema = z.discriminatedUnion("status", [
  ERROR_SCHEMAS.BAD_REQUEST_ERROR,
  errorOf("UNAUTHORIZED_ERROR", unauthorizedSchema.nullable()),
  ERROR_SCHEMAS.PAYMENT_REQUIRED_ERROR,
  ERROR_SCHEMAS.NOT_FOUND_ERROR,
  ERROR_SCHEMAS.GONE_ERROR,
  ERROR_SCHEMAS.VALIDATION_ERROR,
  ERROR_SCHEMAS.TOO_MANY_REQUESTS_ERROR,
  ERROR_SCHEMAS.SERVER_ERROR,
  ERROR_SCHEMAS.GATEWAY_TIMEOUT_ERROR,
]) satisfies z.ZodType<ErrorEnvelope>;

export function successEnvelopeSchema<Data extends z.ZodType>(data: Data) {
  return z.strictObject({ status: z.literal("SUCCESS"), data });
}
