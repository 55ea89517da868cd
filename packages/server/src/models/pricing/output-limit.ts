import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { Mapping } from "../catalogue/mapping.ts";

/**
 * The output limit of a text step whose author set none: about 3,000 English words, five times a usual answer. A hold
 * covers every token of the limit, so the whole limit of a model would hold ten times what such a run costs.
 */
export const DEFAULT_OUTPUT_TOKENS = 4_096;

/** Levels at which reasoning can use up the default. Unless it has tokens of its own, the model's limit counts then. */
const LONG_REASONING: ReadonlySet<Mapping["reasoning"]> = new Set(["high", "xhigh", "max"]);

/**
 * The most tokens a call may return: what the hold is computed from and what the provider is told, always the same.
 * @param wanted the author's limit; null: none was set.
 */
export function outputTokensMax(
  { modality, limits }: Pick<CatalogueEntry, "modality" | "limits">,
  { reasoning, extraOutputTokens }: Pick<Mapping, "reasoning" | "extraOutputTokens">,
  wanted: number | null,
): number {
  if (modality !== "text") return limits.maxOutputTokens;
  if (wanted !== null) return wanted;
  const isLong = LONG_REASONING.has(reasoning) && extraOutputTokens === undefined;
  return isLong
    ? limits.maxOutputTokens
    : Math.min(limits.maxOutputTokens, limits.defaultOutputTokens ?? DEFAULT_OUTPUT_TOKENS);
}
