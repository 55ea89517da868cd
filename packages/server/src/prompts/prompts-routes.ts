import type { PromptVersion, SearchRow } from "@promptd/contract";
import type { Endpoints } from "../http/endpoint.ts";
import type { Catalogue } from "../models/index.ts";
import { isoTime } from "../platform/clock.ts";
import type { Database } from "../platform/database.ts";
import { notFound } from "../platform/problem.ts";
import {
  findPromptVersion,
  findPublicVersion,
  findSearchRows,
  isPromptPublished,
  type FoundPrompt,
  type PublicVersion,
} from "./prompts-store.ts";

const SEARCH_ROWS_MAX = 20;
/** Twice what is shown: prompts of retired models fall out after the search. */
const SEARCH_CANDIDATES_MAX = 40;

export interface PromptsRoutesOptions {
  readonly db: Database;
  readonly catalogue: Catalogue;
  /** Ids of published prompts, best first. */
  readonly search: { find(query: string, limit: number): Promise<string[]> };
}

/** Drafts, unpublished prompts, other prompts' versions and ids that never existed answer the same bytes. */
export function promptsRoutes({
  db,
  catalogue,
  search,
}: PromptsRoutesOptions): Pick<Endpoints, "searchPrompts" | "getPrompt" | "getPromptVersion"> {
  return {
    searchPrompts: async ({ query }) => {
      const promptIds = await search.find(query.q, SEARCH_CANDIDATES_MAX);
      const found = promptIds.length === 0 ? [] : await findSearchRows(db, promptIds);
      const rows = found.flatMap((prompt) => searchRow(prompt, catalogue) ?? []);
      return { data: { rows: rows.slice(0, SEARCH_ROWS_MAX) } };
    },
    getPrompt: async ({ params: { promptId }, query: { versionId } }) => {
      const version = await findPromptVersion(db, promptId, versionId ?? null);
      if (version !== null) return { data: promptVersion(version) };
      const isVersionMissing = versionId !== undefined && (await isPromptPublished(db, promptId));
      throw isVersionMissing ? notFound("published prompt version", versionId) : notFound("published prompt", promptId);
    },
    getPromptVersion: async ({ params: { promptVersionId } }) => {
      const version = await findPublicVersion(db, promptVersionId);
      if (version === null) throw notFound("published prompt version", promptVersionId);
      return { data: promptVersion(version) };
    },
  };
}

function promptVersion(version: PublicVersion): PromptVersion {
  const { promptVersionId, promptId, title, publishedAt, config } = version;
  return { promptVersionId, promptId, title, publishedAt: isoTime(publishedAt.getTime()), config };
}

/** Null for a prompt whose model is retired or unknown here: it could not be run. */
function searchRow(prompt: FoundPrompt, catalogue: Catalogue): SearchRow | null {
  const entry = catalogue.find(prompt.model);
  if (entry === null || entry.status === "retired") return null;
  return {
    promptId: prompt.promptId,
    promptVersionId: prompt.promptVersionId,
    title: prompt.title,
    description: prompt.description,
    slug: prompt.slug,
    model: entry.index,
    modality: prompt.modality,
    estimatedCredits: prompt.estimatedCredits,
    uses: prompt.uses,
    upVotes: prompt.upVotes,
    publishedAt: isoTime(prompt.publishedAt.getTime()),
    samples: prompt.samples,
    configs: prompt.config,
  };
}
