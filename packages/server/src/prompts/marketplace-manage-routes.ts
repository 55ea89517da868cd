import type { MarketplaceQuery, MarketplaceRow, ModeratedPrompt, Page } from "@promptd/contract/manage";
import { printable, type SearchRow } from "@promptd/contract";
import type { ManageHandlers } from "../http/endpoint.ts";
import type { Database } from "../platform/database/database.ts";
import { unknownCursor } from "../platform/database/pages.ts";
import { invalid, notFound, orNotFound, Problem } from "../platform/problem.ts";
import {
  findBySlug,
  listBrowsed,
  listExtras,
  listPublicVersions,
  type MarketplaceExtras,
} from "./marketplace-store.ts";
import { allowRow, blockRow, findModerated, listModerated, setFeatured } from "./moderation-store.ts";
import { searchRow, SEARCH_RANKED_MAX, type SearchPromptsOptions } from "./search-prompts.ts";
import { findSearchRows, setAuthorShare, type FoundPrompt } from "./prompts-store.ts";
import { indexLatest } from "./publishing/unpublish.ts";
import { underPublishingLock } from "./publishing/publish-store.ts";
import { findVote, findVotingAccount, voteForPrompt } from "./votes-store.ts";

const PAGE_ROWS = 50;
const NO_EXTRAS: MarketplaceExtras = { author: null, tags: [], isFeatured: false };

/** The marketplace for pages: searched as under /v1, and listed without a query. */
export function marketplaceManageRoutes(ports: Omit<SearchPromptsOptions, "freeAuthorId">) {
  // List prices: pages request the price of a run when its form is filled in.
  const options = { ...ports, freeAuthorId: null };
  const { db } = options;
  const shownOf = (found: readonly FoundPrompt[]) => found.flatMap((prompt) => searchRow(prompt, options) ?? []);
  const rowsOf = async (shown: readonly SearchRow[]): Promise<MarketplaceRow[]> => {
    const extras = await listExtras(
      db,
      shown.map(({ promptId }) => promptId),
    );
    return shown.map((row) => ({ ...row, ...(extras.get(row.promptId) ?? NO_EXTRAS) }));
  };
  return {
    searchMarketplace: async ({ query }) => {
      const page = await readMarketplace(query, options);
      return { data: { rows: await rowsOf(page.rows), hasMore: page.hasMore } };
    },
    getMarketplacePrompt: async ({ params: { slug } }, { caller }) => {
      const found = await requireBySlug(db, slug);
      const [row] = await rowsOf(shownOf([found.prompt]));
      if (row === undefined) throw noSuchSlug(slug);
      const voter = await findVotingAccount(db, caller);
      const vote = await findVote(db, voter, row.promptId);
      const isOwn = found.prompt.authorId === caller.accountId;
      return { data: { ...row, labels: found.labels, vote, isOwn } };
    },
    listMarketplaceVersions: async ({ params: { slug }, query }) => {
      const { prompt } = await requireBySlug(db, slug);
      return { data: await listPublicVersions(db, prompt.promptId, query) };
    },
    voteForPrompt: async ({ params: { slug }, body: { vote } }, { caller }) => {
      const { prompt } = await requireBySlug(db, slug);
      const voter = await findVotingAccount(db, caller);
      return { data: { slug, vote, upVotes: await voteForPrompt(db, voter, prompt.promptId, vote) } };
    },
    ...moderationRoutes(db),
  } satisfies Partial<ManageHandlers>;
}

/** @throws Problem VALIDATION_ERROR when the cursor is not a listed prompt. */
async function readMarketplace(query: MarketplaceQuery, options: SearchPromptsOptions): Promise<Page<SearchRow>> {
  const { db, search } = options;
  const { q, sort = "popular", modality, model, tag, limit = PAGE_ROWS, startingAfter } = query;
  const among = q === undefined ? null : await search.find(q, SEARCH_RANKED_MAX);
  const rows: SearchRow[] = [];
  let after = startingAfter;
  for (let isMore = true; isMore && rows.length <= limit;) {
    const ids = await listBrowsed(db, { sort, modality, model, tag }, { after, among, limit: limit + 1 });
    if (ids === null) throw unknownCursor(query, "prompt");
    const found = await findSearchRows(db, ids, { withVideos: true });
    // Prompts whose model was retired are dropped here, so the page may need more.
    rows.push(...found.flatMap((prompt) => searchRow(prompt, options) ?? []));
    after = ids.at(-1);
    isMore = ids.length > limit;
  }
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}

async function requireBySlug(db: Database, slug: string) {
  const found = await findBySlug(db, slug);
  if (found === null) throw noSuchSlug(slug);
  return found;
}

function noSuchSlug(slug: string): Problem {
  return new Problem("NOT_FOUND_ERROR", `No published prompt has the slug ${printable(slug)}.`);
}

function moderationRoutes(db: Database) {
  const show = async (promptId: string): Promise<{ data: ModeratedPrompt }> => {
    return { data: orNotFound(await findModerated(db, promptId), "prompt", promptId) };
  };
  return {
    listModeratedPrompts: async ({ query }) => ({ data: await listModerated(db, query) }),
    moderatePrompt: async ({ params: { promptId }, body: { isBlocked, reason } }) => {
      if (isBlocked && reason === undefined) {
        const message = "reason is required to block a prompt. The author sees it.";
        throw invalid([{ path: ["body", "reason"], code: "required", message }]);
      }
      await underPublishingLock(db, async (tx) => {
        const isFound = isBlocked ? await blockRow(tx, promptId, reason ?? "") : await allowRow(tx, promptId);
        if (!isFound) throw notFound("prompt", promptId);
        await indexLatest(tx, promptId);
      });
      return show(promptId);
    },
    featurePrompt: async ({ params: { promptId }, body: { isFeatured } }) => {
      await show(promptId);
      await setFeatured(db, promptId, isFeatured);
      return show(promptId);
    },
    setAuthorShare: async ({ params: { promptId }, body: { percent } }) => {
      await show(promptId);
      await setAuthorShare(db, promptId, percent);
      return show(promptId);
    },
  } satisfies Partial<ManageHandlers>;
}
