import { z } from "zod";
import type { ModelEntry, Resources } from "../models.ts";
import { MODALITIES } from "../prompts.ts";

export const modelEntrySchema = z.strictObject({
  model: z.string(),
  modality: z.enum(MODALITIES),
  availableRunOptions: z.array(z.strictObject({ key: z.string(), options: z.array(z.string()) })),
}) satisfies z.ZodType<ModelEntry>;

export const resourcesSchema: z.ZodType<Resources> = z.strictObject({
  hash: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  resources: z.strictObject({ models: z.array(modelEntrySchema) }),
});
