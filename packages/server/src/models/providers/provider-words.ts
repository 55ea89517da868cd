/**
 * What providers mean by their words, where the HTTP status does not say it: one row per way of saying it, with whose
 * words they are. A provider's text is read here and goes no further.
 */

export type Meaning =
  /** The provider declines the content of this request. */
  | "declined"
  /** The operator's account is empty or closed. */
  | "quota"
  | "bad_key"
  | "too_long";

interface Row {
  readonly means: Meaning;
  readonly words: RegExp;
}

/** Looked for in the body of an answer. A code is looked for like a sentence: each provider puts it elsewhere. */
const ANSWERS: readonly Row[] = [
  { means: "declined", words: /content_policy/i }, // OpenAI and fal: code or type content_policy_violation
  { means: "declined", words: /moderation_blocked/i }, // OpenAI's images
  { means: "declined", words: /content_filter/i }, // servers with the OpenAI interface, after Azure's
  { means: "declined", words: /"flagged_input"/ }, // OpenRouter: a 403, which would else be a key without permission
  { means: "declined", words: /\bnsfw\b/i }, // Replicate: "NSFW content detected"; not fal's has_nsfw_concepts
  { means: "declined", words: /flagged as sensitive/i }, // Replicate, E005
  { means: "quota", words: /insufficient_quota/i }, // OpenAI: a 429, which would else be a limit that passes
  { means: "quota", words: /billing/i }, // OpenAI (billing_not_active), Anthropic (billing_error), Gemini
  { means: "quota", words: /credit balance is too low/i }, // Anthropic: a 400
  { means: "quota", words: /exhausted balance/i }, // fal: a 403
  { means: "bad_key", words: /api_key_invalid/i }, // Gemini: a 400
  { means: "too_long", words: /context_length_exceeded/i }, // OpenAI
  { means: "too_long", words: /string_above_max_length/i }, // OpenAI, for one message
  { means: "too_long", words: /exceed_context_size/i }, // llama.cpp
  { means: "too_long", words: /context length/i }, // vLLM, and others with the OpenAI interface
  { means: "too_long", words: /prompt is too long/i }, // Anthropic
  { means: "too_long", words: /maximum number of tokens/i }, // Gemini
];

/** Looked for beside those in what is said of a job that ended badly, which is prose. */
const JOBS: readonly Row[] = [
  { means: "declined", words: /usage guidelines|safety/i }, // Veo
  { means: "declined", words: /policy|sensitive content/i }, // models at Replicate and fal, in their authors' words
];

export function answerMeans(body: string, meaning: Meaning): boolean {
  return says(ANSWERS, body, meaning);
}

export function jobWasDeclined(words: string): boolean {
  return says([...ANSWERS, ...JOBS], words, "declined");
}

function says(rows: readonly Row[], text: string, meaning: Meaning): boolean {
  return rows.some((row) => row.means === meaning && row.words.test(text));
}
