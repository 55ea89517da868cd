import { z } from "zod";
import type { PromptSamples, SearchResult, SearchRow } from "../prompts.ts";
import type { ImageInput } from "../runs.ts";
import { countSchema, idSchema, timeSchema } from "./answer-fields.ts";
import { promptConfigSchema } from "./prompts.ts";
import { defineField, rawText, report, textFault } from "./request-fields.ts";
import { REQUEST_LIMITS } from "./request-limits.ts";
import { outputItemSchema } from "./runs.ts";

const CONTROLS = /\p{Cc}/gu;

/** Has no maxLength: a text that is too long only before trimming is accepted. */
const SEARCH_TEXT_SCHEMA = {
  type: "string",
  minLength: 1,
  pattern: "\\S",
  description: `What to search for: 1 to ${REQUEST_LIMITS.searchCodePointsMax} characters (Unicode code points). They are counted after control characters are replaced with spaces, the text is normalized (NFC), and surrounding white space is trimmed.`,
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
    report(payload, { code: "required", message: `q is required. Provide 1 to ${max} characters to search for.` });
  } else if (length > max) {
    report(payload, { code: "too_long", message: `q must have at most ${max} characters, got ${length}.` });
  }
});

/** One page of the best results, without a cursor: the specification has no pages for search. */
export const searchPromptsQuerySchema = z.object({ q: searchTextField });

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
