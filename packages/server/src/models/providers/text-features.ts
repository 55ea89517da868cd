/** What models for text can be told beside their prompt; checked when a prompt is published, and again before a call. */

/** How an author wants a text to be made. */
export interface TextSettings {
  /** From 0, the most likely words, to what the model takes. */
  readonly temperature?: number | undefined;
  /** Share of the likeliest words that are drawn from, from 0 to 1. */
  readonly topP?: number | undefined;
  /** The same seed gives the same text, as far as the provider can. */
  readonly seed?: number | undefined;
  /** The text ends before the first of these. */
  readonly stop?: readonly string[] | undefined;
}

export interface TextFeatures {
  /** The highest temperature; null: none is taken. */
  readonly temperatureMax: number | null;
  readonly topP: boolean;
  /** False: temperature or topP, not both. */
  readonly both: boolean;
  readonly seed: boolean;
  /** How many texts may end the answer; 0: none. */
  readonly stopMax: number;
  /** `native`: the provider holds its model to a JSON schema; `prompted`: the schema is a part of the prompt. */
  readonly schema: "native" | "prompted";
}

/** The model, as far as features depend on it. */
export interface FeaturedModel {
  readonly provider: string;
  readonly providerModel: string;
  readonly api?: "responses" | "chat" | undefined;
}

const ALL = { temperatureMax: 2, topP: true, both: true, seed: true, stopMax: 4, schema: "native" } as const;
const NO_SAMPLING = { temperatureMax: null, topP: false, both: false } as const;

export const SANDBOX_FEATURES: TextFeatures = ALL;

const OPENAI_REASONING = /^(?:o\d|gpt-(?:[5-9]|\d{2})(?!.*chat))/;

/** Reasoning models take neither temperature nor topP; Responses has neither a seed nor stops (read in the package, 2026-11). */
export function openAiFeatures({ providerModel, api }: FeaturedModel): TextFeatures {
  const isChat = api === "chat";
  const sampling = OPENAI_REASONING.test(providerModel) ? NO_SAMPLING : {};
  return { ...ALL, ...sampling, seed: isChat, stopMax: isChat ? 4 : 0 };
}

/** Up to 4.6; later ones refuse to be sampled otherwise (read in the package, 2026-11). */
const ANTHROPIC_SAMPLED = /claude-3|-(?:opus|sonnet|haiku)-4(?:-[0-6])?(?:-\d{8})?$/;

export function anthropicFeatures({ providerModel }: FeaturedModel): TextFeatures {
  const sampling = ANTHROPIC_SAMPLED.test(providerModel) ? { temperatureMax: 1, both: false } : NO_SAMPLING;
  return { ...ALL, ...sampling, seed: false };
}

export function googleFeatures(): TextFeatures {
  return { ...ALL, stopMax: 5 };
}

/** Mistral has random_seed instead, and refuses unknown members; DeepSeek documents none. */
const WITHOUT_SEED: ReadonlySet<string> = new Set(["mistral", "deepseek"]);

/** Servers that speak the OpenAI interface: what their own documentation takes away from it. */
export function compatibleFeatures({ provider, providerModel }: FeaturedModel): TextFeatures {
  const hasSeed = !WITHOUT_SEED.has(provider);
  const hasStop = !(provider === "xai" && /^grok-(?!3|.*non-reasoning)/.test(providerModel)); // refused by its reasoning models
  return { ...ALL, seed: hasSeed, stopMax: hasStop ? 4 : 0, schema: "prompted" };
}
