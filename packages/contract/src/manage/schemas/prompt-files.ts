import { z } from "zod";
import { countSchema, idSchema } from "../../schemas/answer-fields.ts";
import { issueSchema } from "../../schemas/errors.ts";
import { promptConfigSchema } from "../../schemas/prompts.ts";
import { FIT_KINDS, type OwnPromptDiff, type PromptFileCheck, type PromptPreview } from "../prompts.ts";

/*
 * Reports about a prompt file's text.
 */

const texts = z.record(z.string(), z.string());
export const priceSchema = z.strictObject({ typical: countSchema, most: countSchema });

export const fileCheckSchema: z.ZodType<PromptFileCheck> = z.strictObject({
  prompts: z.array(
    z.strictObject({
      title: z.string(),
      slug: z.string(),
      promptId: idSchema.nullable(),
      config: promptConfigSchema,
      price: priceSchema,
      warnings: z.array(z.string()),
      notes: z.array(z.string()),
      tests: z.array(
        z.strictObject({
          name: z.string(),
          textInputs: texts,
          runOptions: texts,
          images: countSchema,
          expects: z.array(z.string()),
        }),
      ),
    }),
  ),
  faults: z.array(
    z.strictObject({
      line: z.int().min(1).nullable(),
      column: z.int().min(1).nullable(),
      field: z.string(),
      code: z.string(),
      message: z.string(),
      excerpt: z.string().nullable(),
    }),
  ),
  message: z.string(),
  testRuns: z.enum(["free", "charged"]),
});

export const previewSchema: z.ZodType<PromptPreview> = z.strictObject({
  title: z.string(),
  issues: z.array(issueSchema),
  ignored: z.array(z.string()),
  steps: z.array(
    z.strictObject({
      id: z.string(),
      model: z.string(),
      options: texts,
      maxOutputTokens: countSchema.nullable(),
      count: countSchema,
      settings: z.record(z.string(), z.unknown()),
      outputSchema: z.record(z.string(), z.unknown()).nullable(),
      messages: z.array(
        z.strictObject({
          role: z.enum(["system", "user", "assistant"]),
          text: z.string(),
          images: z.array(z.string()),
        }),
      ),
    }),
  ),
  price: priceSchema.nullable(),
});

const changes = z.array(z.strictObject({ field: z.string(), before: z.unknown(), after: z.unknown() }));

export const diffSchema: z.ZodType<OwnPromptDiff> = z.strictObject({
  isSame: z.boolean(),
  fields: changes,
  inputs: changes,
  options: changes,
  texts: z.array(
    z.strictObject({
      field: z.string(),
      lines: z.array(z.strictObject({ kind: z.enum(["same", "removed", "added"]), text: z.string() })),
    }),
  ),
  price: z.strictObject({ before: priceSchema.nullable(), after: priceSchema.nullable() }),
  conflicts: z.array(z.strictObject({ kind: z.enum(FIT_KINDS), name: z.string(), message: z.string() })),
});
