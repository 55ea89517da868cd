import type { Database, Queryable } from "../platform/database/database.ts";
import { findRowsOf, IS_SEARCHED, type FoundPrompt } from "./prompts-store.ts";

/** Ids of published prompts for who has not searched yet. */
export async function listBrowsed(db: Queryable, sort: "popular" | "newest", limit: number): Promise<string[]> {
  const order = sort === "popular" ? "p.uses desc, p.up_votes desc, p.id desc" : "v.published_at desc, p.id desc";
  const rows = await db.query<{ id: string }>(
    `select p.id from prompts p join prompt_versions v on v.prompt_id = p.id where ${IS_SEARCHED} order by ${order} limit $1`,
    [limit],
  );
  return rows.map(({ id }) => id);
}

export interface SlugPrompt {
  readonly prompt: FoundPrompt;
  /** Shown name; null: the author has given none. */
  readonly author: string | null;
  readonly tags: readonly string[];
}

/** The latest version of the published prompt of this slug, videos too. */
export async function findBySlug(db: Database, slug: string): Promise<SlugPrompt | null> {
  const [known] = await db.query<{ id: string; author: string | null; tags: string[] }>(
    `select p.id, coalesce(a.display_name, a.username) as author, v.tags
     from prompts p join prompt_versions v on v.id = p.latest_version_id join accounts a on a.id = p.author_id
     where p.slug = $1 and v.published_at is not null and p.unpublished_at is null`,
    [slug],
  );
  if (known === undefined) return null;
  const [prompt] = await findRowsOf(db, [known.id], { withVideos: true });
  return prompt === undefined ? null : { prompt, author: known.author, tags: known.tags };
}
