import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { Mapping } from "../catalogue/option-mapping.ts";
import { providerOf } from "../providers/all-providers.ts";

/**
 * The output limit of a text step whose author set none: about 3,000 English words, five times a usual answer. A hold
 * covers every token of the limit, so the whole limit of a model would hold ten times what such a run costs.
 */
export const DEFAULT_OUTPUT_TOKENS = 4_096;

type LimitedEntry = Pick<CatalogueEntry, "modality" | "limits" | "provider">;
type LimitedMapping = Pick<Mapping, "reasoning" | "extraOutputTokens">;

/** Levels at which reasoning can use up the default. Unless it has tokens of its own, the model's limit counts then. */
const LONG_REASONING: ReadonlySet<Mapping["reasoning"]> = new Set(["high", "xhigh", "max"]);

/** Tokens beside the answer. Providers count reasoning inside the limit of the answer, and say of no level how much it takes. */
const REASONING_ROOM: Readonly<Record<NonNullable<Mapping["reasoning"]>, number>> = {
  none: 0,
  minimal: 1_024,
  low: 2_048,
  medium: 4_096,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
};

/** Tokens that are added to a limit for reasoning; 0 where it has tokens of its own. */
export function reasoningRoom(
  { modality, limits, provider }: LimitedEntry,
  { reasoning, extraOutputTokens }: LimitedMapping,
): number {
  if (modality !== "text" || extraOutputTokens !== undefined || providerOf(provider).isSimulated) return 0;
  return reasoning === undefined ? (limits.reasoningTokens ?? 0) : REASONING_ROOM[reasoning];
}

/** The most tokens that its answer is meant to have. @param wanted the author's limit; null: none was set. */
export function answerTokensMax({ modality, limits }: LimitedEntry, wanted: number | null): number {
  if (modality !== "text") return limits.maxOutputTokens;
  return Math.min(limits.maxOutputTokens, wanted ?? limits.defaultOutputTokens ?? DEFAULT_OUTPUT_TOKENS);
}

/**
 * The most tokens a call may return: what the hold is computed from and what the provider is told, always the same. Room
 * for reasoning is added to it, as far as the model's own limit allows.
 */
export function outputTokensMax(entry: LimitedEntry, mapping: LimitedMapping, wanted: number | null): number {
  const { modality, limits } = entry;
  if (modality !== "text") return limits.maxOutputTokens;
  const isLong = LONG_REASONING.has(mapping.reasoning) && mapping.extraOutputTokens === undefined;
  if (wanted === null && isLong) return limits.maxOutputTokens;
  const answer = answerTokensMax(entry, wanted);
  return Math.min(limits.maxOutputTokens, answer + reasoningRoom(entry, mapping));
}
