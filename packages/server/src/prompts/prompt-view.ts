/** Prompts as callers see them. */
import type { PromptConfig, PromptVersion } from "@promptd/contract";
import type { Catalogue } from "../models/index.ts";
import { isoTime } from "../platform/clock.ts";
import { currentWebSearch, publicRunOptions } from "./inputs/run-options.ts";
import type { PriceEstimates } from "./prompt-definition.ts";
import type { PublicVersion } from "./prompts-store.ts";

/** What is shown depends on the current models and on the viewer. */
export interface Shown {
  readonly catalogue: Catalogue;
  /** The viewing author, whose own prompts are free; null: all prompts are shown at their price. */
  readonly freeAuthorId: string | null;
}

export function promptVersion(version: PublicVersion, shown: Shown): PromptVersion {
  const { promptVersionId, promptId, title, publishedAt } = version;
  const config = currentConfig(version, shown);
  return { promptVersionId, promptId, title, publishedAt: isoTime(publishedAt.getTime()), config };
}

/** The published config, with the run options, searches, and prices that its models have now. */
export function currentConfig(version: PublicVersion, shown: Shown): PromptConfig {
  const { config, steps } = version;
  const runOptions = publicRunOptions(config, steps, shown.catalogue);
  return { ...config, runOptions, ...currentWebSearch(steps, shown.catalogue), ...priceOf(version, shown) };
}

export function priceOf(
  { authorId, estimatedCredits, creditsRequired }: PublicVersion,
  { freeAuthorId }: Shown,
): PriceEstimates {
  return authorId === freeAuthorId
    ? { estimatedCredits: 0, creditsRequired: 0 }
    : { estimatedCredits, creditsRequired };
}
