import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { Mapping } from "../catalogue/option-mapping.ts";
import { providerOf } from "../providers/all-providers.ts";

/**
 * The output limit of a text step whose author set none: about 3,000 English words, five times a usual answer. The hold
 * covers every token of the limit, so a model's full limit would hold ten times what such a run costs.
 */
export const DEFAULT_OUTPUT_TOKENS = 4_096;

type LimitedEntry = Pick<CatalogueEntry, "modality" | "limits" | "provider">;
type LimitedMapping = Pick<Mapping, "reasoning" | "extraOutputTokens">;

/** Levels at which reasoning can use up the default limit. The model's limit applies then, unless reasoning has its own tokens. */
const LONG_REASONING: ReadonlySet<Mapping["reasoning"]> = new Set(["high", "xhigh", "max"]);

/** Tokens beyond the answer. Providers count reasoning toward the answer's limit, and do not say how much a level uses. */
const REASONING_ROOM: Readonly<Record<NonNullable<Mapping["reasoning"]>, number>> = {
  none: 0,
  minimal: 1_024,
  low: 2_048,
  medium: 4_096,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
};

/** Tokens added to a limit for reasoning; 0 if reasoning has its own tokens. */
export function reasoningRoom(
  { modality, limits, provider }: LimitedEntry,
  { reasoning, extraOutputTokens }: LimitedMapping,
): number {
  if (modality !== "text" || extraOutputTokens !== undefined || providerOf(provider).isSimulated) return 0;
  return reasoning === undefined ? (limits.reasoningTokens ?? 0) : REASONING_ROOM[reasoning];
}

/** The most tokens that the answer should have. @param wanted the author's limit; null: not set. */
export function answerTokensMax({ modality, limits }: LimitedEntry, wanted: number | null): number {
  if (modality !== "text") return limits.maxOutputTokens;
  return Math.min(limits.maxOutputTokens, wanted ?? limits.defaultOutputTokens ?? DEFAULT_OUTPUT_TOKENS);
}

/**
 * The most tokens a call may return. The hold is computed from the same number that the provider is sent. It includes
 * tokens for reasoning, as far as the model's own limit allows.
 */
export function outputTokensMax(entry: LimitedEntry, mapping: LimitedMapping, wanted: number | null): number {
  const { modality, limits } = entry;
  if (modality !== "text") return limits.maxOutputTokens;
  const isLong = LONG_REASONING.has(mapping.reasoning) && mapping.extraOutputTokens === undefined;
  if (wanted === null && isLong) return limits.maxOutputTokens;
  const answer = answerTokensMax(entry, wanted);
  return Math.min(limits.maxOutputTokens, answer + reasoningRoom(entry, mapping));
}
