import type { MarketplaceRow, MarketplaceVersion, PageQuery, PromptLabel } from "@promptd/contract/manage";
import type { Database, Queryable } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";
import { LABELS } from "./own/own-prompts-store.ts";
import { findRowsOf, IS_LIVE, IS_SEARCHED, type FoundPrompt } from "./prompts-store.ts";

const ORDERS = {
  popular: "p.uses desc, p.up_votes desc, p.id desc",
  newest: "v.published_at desc, p.id desc",
  featured: "(p.featured_at is not null) desc, p.uses desc, p.up_votes desc, p.id desc",
} as const;

/** Ids of published prompts for who has not searched yet. */
export async function listBrowsed(db: Queryable, sort: keyof typeof ORDERS, limit: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select p.id from prompts p join prompt_versions v on v.prompt_id = p.id where ${IS_SEARCHED}
     order by ${ORDERS[sort]} limit $1`,
    [limit],
  );
  return rows.map(({ id }) => id);
}

/** What a card shows beside what /v1 answers. */
export type MarketplaceExtras = Pick<MarketplaceRow, "author" | "tags" | "isFeatured">;

export async function listExtras(
  db: Queryable,
  promptIds: readonly string[],
): Promise<ReadonlyMap<string, MarketplaceExtras>> {
  const rows = await db.query<MarketplaceExtras & { id: string }>(
    `select p.id, coalesce(a.display_name, a.username) as author, v.tags, p.featured_at is not null as "isFeatured"
     from prompts p join prompt_versions v on v.id = p.latest_version_id join accounts a on a.id = p.author_id
     where p.id = any ($1::uuid[])`,
    [promptIds],
  );
  return new Map(rows.map(({ id, ...extras }) => [id, extras]));
}

export interface SlugPrompt {
  readonly prompt: FoundPrompt;
  readonly labels: readonly PromptLabel[];
}

/** The latest version of the published prompt of this slug, videos too. */
export async function findBySlug(db: Database, slug: string): Promise<SlugPrompt | null> {
  const [known] = await db.query<{ id: string; labels: PromptLabel[] }>(
    `select p.id, ${LABELS} from prompts p join prompt_versions v on v.id = p.latest_version_id
     where p.slug = $1 and ${IS_LIVE}`,
    [slug],
  );
  if (known === undefined) return null;
  const [prompt] = await findRowsOf(db, [known.id], { withVideos: true });
  return prompt === undefined ? null : { prompt, labels: known.labels };
}

type PublicVersionRow = Omit<MarketplaceVersion, "publishedAt"> & { readonly publishedAt: Date };

/** Null: the cursor is not one of the prompt's versions. */
export function listPublicVersions(
  db: Queryable,
  promptId: string,
  query: PageQuery,
): Promise<{ rows: PublicVersionRow[]; hasMore: boolean } | null> {
  return readPage<PublicVersionRow, PublicVersionRow>(db, query, {
    columns: `v.id as "promptVersionId", v.number as version, v.title, v.published_at as "publishedAt", v.note,
      v.id = p.latest_version_id as "isLatest",
      array(select l.label from prompt_labels l where l.prompt_id = p.id and l.prompt_version_id = v.id
        order by l.label) as labels`,
    from: "prompt_versions v join prompts p on p.id = v.prompt_id",
    where: `v.prompt_id = $1 and ${IS_LIVE}`,
    values: [promptId],
    id: "v.id",
    toItem: (row) => row,
  });
}
