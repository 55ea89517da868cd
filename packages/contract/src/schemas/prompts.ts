import { z } from "zod";
import { LABEL_FORM, SLUG_FORM, SLUG_NAME_FORM } from "../names/prompt-names.ts";
import { quoteText } from "../printable-text.ts";
import { MODALITIES, type NamedPrompts, type PromptConfig, type PromptVersion, type SlugVersion } from "../prompts.ts";
import { countSchema, idSchema, timeSchema } from "./answer-fields.ts";
import { defineField, rawText, report, uuidField } from "./request-fields.ts";
import { REQUEST_LIMITS } from "./request-limits.ts";

export const getPromptQuerySchema = z.object({ versionId: uuidField("versionId").optional() });

/** A prompt's slug: letters, digits, and hyphens; upper case is converted to lower case. */
export const slugField = defineField<string>({ type: "string", pattern: SLUG_FORM.source }, (payload) => {
  const given = rawText(payload) ?? "";
  payload.value = given.toLowerCase();
  if (SLUG_FORM.test(given)) return;
  const message = `slug must consist of letters a-z, digits, and hyphens, such as tea-poem, got ${quoteText(given)}.`;
  report(payload, { code: "invalid_value", message });
});

/** A version's label: one that its author set, or `latest`. */
export const labelQueryField = defineField<string>({ type: "string", pattern: LABEL_FORM.source }, (payload) => {
  const given = rawText(payload) ?? "";
  if (LABEL_FORM.test(given)) return;
  const message = `label must be 1 to 40 letters a-z, digits, and hyphens, starting with a letter, got ${quoteText(given)}.`;
  report(payload, { code: "invalid_value", message });
});

export const labelQuerySchema = z.object({ label: labelQueryField.optional() });

/** A comma-separated list; duplicates count once. */
const slugsField = defineField<string | undefined>(
  {
    type: "string",
    description: `Up to ${REQUEST_LIMITS.slugsMax} slugs, each optionally with @label, separated by commas.`,
  },
  (payload) => {
    const given = rawText(payload);
    if (given === undefined) return;
    const names = slugNames(given);
    const wrong = names.find((name) => !SLUG_NAME_FORM.test(name));
    const { slugsMax: max } = REQUEST_LIMITS;
    if (names.length > max) {
      report(payload, { code: "too_many", message: `slugs accepts at most ${max} names, got ${names.length}.` });
    } else if (names.length === 0 || wrong !== undefined) {
      const message = `slugs must be a comma-separated list of slugs such as tea-poem,cat-poem@production, got ${quoteText(wrong ?? given)}.`;
      report(payload, { code: "invalid_value", message });
    }
  },
).optional();

/** The names in a comma-separated list, in lower case. */
export function slugNames(list: string): string[] {
  return [...new Set(list.split(",").map((name) => name.trim().toLowerCase()))].filter((name) => name !== "");
}

export const slugsQuerySchema = z.object({ slugs: slugsField, label: labelQueryField.optional() }).check((payload) => {
  if (payload.value.slugs !== undefined || payload.value.label !== undefined) return;
  report(payload, { code: "required", message: "Provide slugs, label, or both.", path: ["slugs"] });
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
