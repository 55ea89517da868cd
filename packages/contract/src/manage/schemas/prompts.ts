import { z } from "zod";
import { createRunInputsSchema, runOptionsField } from "../../schemas/create-run.ts";
import { MODALITIES } from "../../prompts.ts";
import { labelQueryField, promptConfigSchema } from "../../schemas/prompts.ts";
import { quoteText } from "../../printable-text.ts";
import { countSchema, idSchema, timeSchema } from "../../schemas/answer-fields.ts";
import { outputItemSchema, runSchema } from "../../schemas/runs.ts";
import { checkPageQuery, defineField, report, uuidField } from "../../schemas/request-fields.ts";
import type { EndpointSchemas } from "../../schemas/endpoint-schemas.ts";
import { textRecordField } from "../../schemas/text-record-field.ts";
import {
  PROMPT_STATES,
  PROMPT_USE_DIMENSIONS,
  type DraftSave,
  type ModelEnding,
  type OwnPrompt,
  type OwnPromptRow,
  type OwnVersion,
  type OwnVersionRow,
  type PreviewBody,
  type PromptPublication,
  type PromptSample,
  type PromptSampleBody,
  type PromptUsageReport,
  type PublishBody,
  type TestRunBody,
  type TestRunResult,
} from "../prompts.ts";
import {
  dayField,
  integerField,
  none,
  pageOf,
  pageQuery,
  sourceField,
  textField,
  wordField,
} from "./request-fields.ts";
import { diffSchema, fileCheckSchema, previewSchema, priceSchema } from "./prompt-files.ts";

const REVISION_MAX = 2_000_000_000;
const NOTE_MAX = 1_000;

const useMembers = { runs: countSchema, succeeded: countSchema, failed: countSchema, credits: countSchema } as const;
const useSchema = z.strictObject(useMembers);
const day = z.string().regex(/^\d{4}-\d\d-\d\d$/);

const endingSchema: z.ZodType<ModelEnding> = z.strictObject({
  promptVersionId: idSchema,
  version: countSchema,
  isLatest: z.boolean(),
  model: z.string(),
  retiresAt: day,
  successor: z.string().nullable(),
});

export const labelsSchema = z.array(
  z.strictObject({ label: z.string(), promptVersionId: idSchema, version: countSchema }),
);
export const moderationSchema = z.strictObject({ at: timeSchema, reason: z.string() }).nullable();

const rowMembers = {
  promptId: idSchema,
  title: z.string(),
  state: z.enum(PROMPT_STATES),
  slug: z.string().nullable(),
  draft: z
    .strictObject({
      revision: countSchema,
      savedAt: timeSchema,
      savedBy: z.string().nullable(),
      baseVersionId: idSchema.nullable(),
    })
    .nullable(),
  latest: z
    .strictObject({
      promptVersionId: idSchema,
      version: countSchema,
      publishedAt: timeSchema,
      note: z.string().nullable(),
      model: z.string(),
      modality: z.enum(MODALITIES),
      estimatedCredits: countSchema,
      creditsRequired: countSchema,
    })
    .nullable(),
  versions: countSchema,
  labels: labelsSchema,
  uses: countSchema,
  upVotes: countSchema,
  last30Days: useSchema,
  moderation: moderationSchema,
  isFeatured: z.boolean(),
  endingModels: z.array(endingSchema),
} as const;
const rowSchema: z.ZodType<OwnPromptRow> = z.strictObject(rowMembers);
const sampleSchema: z.ZodType<PromptSample> = z.strictObject({
  runId: idSchema,
  takenAt: timeSchema,
  textInputs: z.record(z.string(), z.string()),
  output: outputItemSchema,
});
const promptSchema: z.ZodType<OwnPrompt> = z.strictObject({
  ...rowMembers,
  source: z.string(),
  authorSharePercent: countSchema.nullable(),
  sample: sampleSchema.nullable(),
});

const versionMembers = {
  promptVersionId: idSchema,
  version: countSchema,
  title: z.string(),
  model: z.string(),
  publishedAt: timeSchema,
  publishedBy: z.string().nullable(),
  note: z.string().nullable(),
  isLatest: z.boolean(),
  labels: z.array(z.string()),
  estimatedCredits: countSchema,
  last30Days: useSchema,
  endingModels: z.array(endingSchema),
} as const;
const versionRowSchema: z.ZodType<OwnVersionRow> = z.strictObject(versionMembers);
const versionSchema: z.ZodType<OwnVersion> = z.strictObject({
  ...versionMembers,
  source: z.string(),
  config: promptConfigSchema,
});

const publicationSchema: z.ZodType<PromptPublication> = z.strictObject({
  promptId: idSchema,
  promptVersionId: idSchema,
  version: countSchema,
  slug: z.string(),
  title: z.string(),
  outcome: z.enum(["created", "changed", "unchanged"]),
  warnings: z.array(z.string()),
});

const usageSchema: z.ZodType<PromptUsageReport> = z.strictObject({
  from: day,
  to: day,
  rows: z.array(
    z.strictObject({
      day: day.nullable(),
      promptVersionId: idSchema.nullable(),
      version: countSchema.nullable(),
      ...useMembers,
    }),
  ),
  isCut: z.boolean(),
});

const testResultSchema: z.ZodType<TestRunResult> = z.strictObject({
  run: runSchema,
  price: priceSchema,
  test: z
    .strictObject({
      name: z.string(),
      passed: z.boolean(),
      failures: z.array(z.string()),
      unchecked: z.array(z.string()),
    })
    .nullable(),
});

const promptId = z.object({ promptId: uuidField("promptId") });
const versionId = z.object({ ...promptId.shape, promptVersionId: uuidField("promptVersionId") });
const runId = z.object({ ...promptId.shape, runId: uuidField("runId") });
const revision = integerField("revision", [0, REVISION_MAX]);
const note = textField("note", NOTE_MAX).optional();

/** The latest version always has this label, so nobody can set it. */
const LABEL_OF_LATEST = "latest";

const labelField = labelQueryField.check((payload) => {
  if (payload.value !== LABEL_OF_LATEST) return;
  const message = `label must not be "${LABEL_OF_LATEST}", which always leads to the latest version.`;
  report(payload, { code: "invalid_value", message });
});
const label = z.object({ ...promptId.shape, label: labelField });

const newDraft = z.object({ source: sourceField("source").optional() });
const draftSave = z.object({ source: sourceField("source"), revision }) satisfies z.ZodType<DraftSave>;
const publishBody = z.object({
  revision,
  baseVersionId: uuidField("baseVersionId").nullable(),
  note,
}) satisfies z.ZodType<PublishBody>;

const testRunBody: z.ZodType<TestRunBody> = z.object({
  revision,
  test: textField("test", 200).optional(),
  model: textField("model", 100).optional(),
  inputs: createRunInputsSchema.optional(),
  runOptions: runOptionsField,
});

const previewBody: z.ZodType<PreviewBody> = z.object({
  source: sourceField("source"),
  title: textField("title", 200).optional(),
  textInputs: textRecordField({ field: "textInputs", entry: "Text input" }),
  runOptions: runOptionsField,
  stepOutputs: textRecordField({ field: "stepOutputs", entry: "Step output" }),
});

const dimensionsField = defineField<string>({ type: "string", enum: ["day", "version", "day,version"] }, (payload) => {
  const given = typeof payload.value === "string" ? payload.value : "";
  const words = given.split(",");
  const known = PROMPT_USE_DIMENSIONS.filter((word) => words.includes(word));
  if (known.length === words.length) payload.value = known.join(",");
  else {
    const message = `by must be day, version, or both separated by a comma. Got ${quoteText(given)}.`;
    report(payload, { code: "invalid_value", message });
  }
});

const usageQuery = z.object({
  by: dimensionsField.optional(),
  from: dayField("from").optional(),
  to: dayField("to").optional(),
});
const promptPage = z
  .object({
    ...pageQuery.shape,
    state: wordField("state", PROMPT_STATES).optional(),
    q: textField("q", 200).optional(),
  })
  .check(checkPageQuery);
const diffQuery = z.object({ from: uuidField("from").optional(), to: uuidField("to").optional() });

export const promptsSchemas = {
  listPrompts: { params: none, query: promptPage, body: null, data: pageOf(rowSchema) },
  createDraft: { params: none, query: none, body: newDraft, data: promptSchema },
  getPrompt: { params: promptId, query: none, body: null, data: promptSchema },
  saveDraft: { params: promptId, query: none, body: draftSave, data: promptSchema },
  deleteDraft: {
    params: promptId,
    query: none,
    body: null,
    data: z.strictObject({ promptId: idSchema, isPromptDeleted: z.boolean() }),
  },
  publishDraft: { params: promptId, query: none, body: publishBody, data: publicationSchema },
  rollBackPrompt: {
    params: promptId,
    query: none,
    body: z.object({ promptVersionId: uuidField("promptVersionId"), note }),
    data: publicationSchema,
  },
  unpublishPrompt: { params: promptId, query: none, body: null, data: promptSchema },
  republishPrompt: { params: promptId, query: none, body: null, data: promptSchema },
  listVersions: {
    params: promptId,
    query: pageQuery.check(checkPageQuery),
    body: null,
    data: pageOf(versionRowSchema),
  },
  getVersion: { params: versionId, query: none, body: null, data: versionSchema },
  diffPrompt: { params: promptId, query: diffQuery, body: null, data: diffSchema },
  getPromptUsage: { params: promptId, query: usageQuery, body: null, data: usageSchema },
  setPromptSample: {
    params: promptId,
    query: none,
    body: z.object({ runId: uuidField("runId") }) satisfies z.ZodType<PromptSampleBody>,
    data: z.strictObject({ sample: sampleSchema.nullable() }),
  },
  deletePromptSample: {
    params: promptId,
    query: none,
    body: null,
    data: z.strictObject({ sample: sampleSchema.nullable() }),
  },
  setLabel: {
    params: label,
    query: none,
    body: z.object({ promptVersionId: uuidField("promptVersionId") }),
    data: z.strictObject({ labels: labelsSchema }),
  },
  deleteLabel: { params: label, query: none, body: null, data: z.strictObject({ labels: labelsSchema }) },
  createTestRun: { params: promptId, query: none, body: testRunBody, data: runSchema },
  getTestRun: {
    params: runId,
    query: z.object({ test: textField("test", 200).optional() }),
    body: null,
    data: testResultSchema,
  },
  checkPromptFile: {
    params: none,
    query: none,
    body: z.object({ source: sourceField("source") }),
    data: fileCheckSchema,
  },
  previewPromptFile: { params: none, query: none, body: previewBody, data: previewSchema },
  publishPromptFile: {
    params: none,
    query: none,
    body: z.object({ source: sourceField("source"), note }),
    data: z.strictObject({ published: z.array(publicationSchema) }),
  },
} satisfies Record<string, EndpointSchemas>;
