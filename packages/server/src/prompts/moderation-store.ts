/** SQL of what operators decide about prompts: block and allow, feature, and the author's share. */
import type { ModeratedPrompt, Page, PageQuery } from "@promptd/contract/manage";
import { isoTime } from "../platform/clock.ts";
import type { Queryable, Tx } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";

interface ModeratedRow {
  id: string;
  slug: string;
  title: string;
  author_id: string;
  email: string;
  state: ModeratedPrompt["state"];
  blocked_at: Date | null;
  block_reason: string | null;
  featured: boolean;
  author_share: number | null;
  uses: number;
  up_votes: number;
  published_at: Date;
}

const STATE = `case when p.blocked_at is not null then 'blocked' when p.unpublished_at is not null then 'unpublished'
  else 'published' end`;
const COLUMNS = `p.id, p.slug, v.title, p.author_id, a.email, ${STATE} as state, p.blocked_at, p.block_reason,
  p.featured_at is not null as featured, p.author_share, p.uses, p.up_votes, v.published_at`;
/** Of what was ever published its public words: nothing of drafts, and nothing of templates. */
const FROM = "prompts p join prompt_versions v on v.id = p.latest_version_id join accounts a on a.id = p.author_id";

export interface ModeratedQuery extends PageQuery {
  readonly state?: ModeratedPrompt["state"] | undefined;
  readonly q?: string | undefined;
}

export function listModerated(db: Queryable, query: ModeratedQuery): Promise<Page<ModeratedPrompt>> {
  return readPage<ModeratedRow, ModeratedPrompt>(db, query, {
    what: "prompt",
    columns: COLUMNS,
    from: FROM,
    where: `($1::text is null or ${STATE} = $1)
      and ($2::text is null or position(lower($2) in lower(concat_ws(' ', v.title, p.slug, a.email))) > 0)`,
    values: [query.state ?? null, query.q ?? null],
    id: "p.id",
    toItem: toModerated,
  });
}

export async function findModerated(db: Queryable, promptId: string): Promise<ModeratedPrompt | null> {
  const [row] = await db.query<ModeratedRow>(`select ${COLUMNS} from ${FROM} where p.id = $1`, [promptId]);
  return row === undefined ? null : toModerated(row);
}

function toModerated(row: ModeratedRow): ModeratedPrompt {
  return {
    promptId: row.id,
    slug: row.slug,
    title: row.title,
    accountId: row.author_id,
    accountEmail: row.email,
    state: row.state,
    moderation:
      row.blocked_at === null ? null : { at: isoTime(row.blocked_at.getTime()), reason: row.block_reason ?? "" },
    isFeatured: row.featured,
    authorSharePercent: row.author_share,
    uses: row.uses,
    upVotes: row.up_votes,
    publishedAt: isoTime(row.published_at.getTime()),
  };
}

/** Unpublishes too, which programs of earlier releases respect. A prompt that is blocked already gets the new reason. */
export async function blockRow(tx: Tx, promptId: string, reason: string): Promise<boolean> {
  const text = `update prompts p set block_reason = $2, blocked_at = coalesce(p.blocked_at, now.at),
      unpublished_at = coalesce(p.unpublished_at, now.at)
    from (select promptd_now() as at) now where p.id = $1 and p.latest_version_id is not null returning 1`;
  return (await tx.query(text, [promptId, reason])).length > 0;
}

/** What the block had unpublished is published again; what its author had unpublished stays so. */
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

/** By the slug that callers see, of what was ever published. */
export async function findPromptId(db: Queryable, slug: string): Promise<string | null> {
  const text = "select id from prompts where slug = $1 and latest_version_id is not null";
  return (await db.query<{ id: string }>(text, [slug]))[0]?.id ?? null;
}

/** Slugs of about this length, for who has mistyped one. */
export async function listSlugs(db: Queryable, length: number, tolerance: number): Promise<string[]> {
  const rows = await db.query<{ slug: string }>(
    "select slug from prompts where latest_version_id is not null and abs(length(slug) - $1) <= $2",
    [length, tolerance],
  );
  return rows.map(({ slug }) => slug);
}
