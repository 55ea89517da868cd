/** Search results as callers see them. */
import type { SearchRow } from "@promptd/contract";
import { isoTime } from "../platform/clock.ts";
import type { Database } from "../platform/database/database.ts";
import { findGoneModel } from "./inputs/run-options.ts";
import { publicSample, type SampleUrl } from "./own/samples-store.ts";
import { currentConfig, priceOf, type Shown } from "./prompt-view.ts";
import { findSearchRows, type FoundPrompt } from "./prompts-store.ts";

const SEARCH_ROWS_MAX = 20;
/** As many as ranking returns: after a popular model is retired, most of the best results may be dropped. */
export const SEARCH_RANKED_MAX = 200;

export interface SearchPromptsOptions extends Shown {
  readonly db: Database;
  /** Ids of published prompts, best first. */
  readonly search: { find(query: string, limit: number): Promise<string[]> };
  readonly sampleUrl: SampleUrl;
}

/** Finds the best prompts that can be run now, in order. */
export async function searchPrompts(q: string, options: SearchPromptsOptions): Promise<SearchRow[]> {
  const { db, search } = options;
  const promptIds = await search.find(q, SEARCH_RANKED_MAX);
  const rows: SearchRow[] = [];
  for (let at = 0; at < promptIds.length && rows.length < SEARCH_ROWS_MAX; at += SEARCH_ROWS_MAX) {
    const found = await findSearchRows(db, promptIds.slice(at, at + SEARCH_ROWS_MAX), { withVideos: false });
    rows.push(...found.flatMap((prompt) => searchRow(prompt, options) ?? []));
  }
  return rows.slice(0, SEARCH_ROWS_MAX);
}

/** Null for a prompt with a model that is retired or unknown here, since it cannot be run. */
export function searchRow(
  prompt: FoundPrompt,
  { sampleUrl, ...shown }: Omit<SearchPromptsOptions, "db" | "search">,
): SearchRow | null {
  const { catalogue } = shown;
  const entry = catalogue.find(prompt.model);
  if (entry === null || findGoneModel(prompt.steps, catalogue) !== null) return null;
  return {
    promptId: prompt.promptId,
    promptVersionId: prompt.promptVersionId,
    title: prompt.title,
    description: prompt.description,
    slug: prompt.slug,
    model: entry.index,
    modality: prompt.modality,
    estimatedCredits: priceOf(prompt, shown).estimatedCredits,
    uses: prompt.uses,
    upVotes: prompt.upVotes,
    publishedAt: isoTime(prompt.publishedAt.getTime()),
    samples: prompt.taken === null ? prompt.samples : publicSample(prompt.taken, sampleUrl),
    configs: currentConfig(prompt, shown),
  };
}
