/** SQL for what operators decide about prompts: block and allow, feature, and the author's share. */
import type { ModeratedPrompt, Page, PageQuery } from "@promptd/contract/manage";
import { queryAnswer } from "../platform/database/answers.ts";
import type { Queryable, Tx } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";

const STATE = `case when p.blocked_at is not null then 'blocked' when p.unpublished_at is not null then 'unpublished'
  else 'published' end`;
/** Columns for queries of prompts `p`; null if no operator has blocked the prompt. */
export const MODERATION = `p.blocked_at as "moderation.at",
  case when p.blocked_at is not null then coalesce(p.block_reason, '') end as "moderation.reason"`;
const COLUMNS = `p.id as "promptId", p.slug, v.title, p.author_id as "accountId", a.email as "accountEmail",
  ${STATE} as state, ${MODERATION}, p.featured_at is not null as "isFeatured",
  p.author_share as "authorSharePercent", p.uses, p.up_votes as "upVotes", v.published_at as "publishedAt"`;
/** Public texts of prompts that were ever published: no drafts and no templates. */
const FROM = "prompts p join prompt_versions v on v.id = p.latest_version_id join accounts a on a.id = p.author_id";

export function listModerated(
  db: Queryable,
  query: PageQuery & { state?: ModeratedPrompt["state"] | undefined; q?: string | undefined },
): Promise<Page<ModeratedPrompt>> {
  return readPage(db, query, {
    what: "prompt",
    columns: COLUMNS,
    from: FROM,
    where: `($1::text is null or ${STATE} = $1)
      and ($2::text is null or position(lower($2) in lower(concat_ws(' ', v.title, p.slug, a.email))) > 0)`,
    values: [query.state ?? null, query.q ?? null],
    id: "p.id",
  });
}

export function findModerated(db: Queryable, promptId: string): Promise<ModeratedPrompt | null> {
  return queryAnswer(db, `select ${COLUMNS} from ${FROM} where p.id = $1`, [promptId]);
}

/** Blocks a prompt, and unpublishes it, which earlier releases respect. A blocked prompt gets the new reason. */
export async function blockRow(tx: Tx, promptId: string, reason: string): Promise<boolean> {
  const text = `update prompts p set block_reason = $2, blocked_at = coalesce(p.blocked_at, now.at),
      unpublished_at = coalesce(p.unpublished_at, now.at)
    from (select promptd_now() as at) now where p.id = $1 and p.latest_version_id is not null returning 1`;
  return (await tx.query(text, [promptId, reason])).length > 0;
}

/** Publishes a prompt again if the block unpublished it. A prompt that its author unpublished stays unpublished. */
export async function allowRow(tx: Tx, promptId: string): Promise<boolean> {
  const text = `update prompts set blocked_at = null, block_reason = null,
      unpublished_at = case when unpublished_at is distinct from blocked_at then unpublished_at end
    where id = $1 and latest_version_id is not null returning 1`;
  return (await tx.query(text, [promptId])).length > 0;
}

export async function setFeatured(db: Queryable, promptId: string, isFeatured: boolean): Promise<void> {
  const text =
    "update prompts set featured_at = case when $2 then coalesce(featured_at, promptd_now()) end where id = $1";
  await db.query(text, [promptId, isFeatured]);
}

/** Finds a prompt that was ever published by the slug that callers see. */
export async function findPromptId(db: Queryable, slug: string): Promise<string | null> {
  const text = "select id from prompts where slug = $1 and latest_version_id is not null";
  return (await db.query<{ id: string }>(text, [slug]))[0]?.id ?? null;
}

/** Lists slugs of about this length, to suggest one for a mistyped slug. */
export async function listSlugs(db: Queryable, length: number, tolerance: number): Promise<string[]> {
  const rows = await db.query<{ slug: string }>(
    "select slug from prompts where latest_version_id is not null and abs(length(slug) - $1) <= $2",
    [length, tolerance],
  );
  return rows.map(({ slug }) => slug);
}
