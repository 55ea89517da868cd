import type {
  MarketplaceQuery,
  MarketplaceRow,
  MarketplaceVersion,
  Page,
  PageQuery,
  PromptLabel,
} from "@promptd/contract/manage";
import type { Database, Queryable } from "../platform/database/database.ts";
import { createFilters, readPage } from "../platform/database/pages.ts";
import { LABELS } from "./own/own-prompts-store.ts";
import { findSearchRows, IS_LIVE, MODALITY_NUMBERS, type FoundPrompt } from "./prompts-store.ts";

type Browse = Pick<MarketplaceQuery, "modality" | "model" | "tag"> & { readonly sort: keyof typeof ORDERS };

export interface BrowsePage {
  /** The prompt after which the page starts. */
  readonly after: string | undefined;
  /** Ids ranked by a search, best first; null: all prompts, in the order of `sort`. */
  readonly among: readonly string[] | null;
  readonly limit: number;
}

/** The sort keys of each order, all descending. The id makes the order unique. */
const ORDERS = {
  popular: ["p.uses", "p.up_votes", "p.id"],
  newest: ["v.published_at", "p.id"],
  featured: ["p.featured_at is not null", "p.uses", "p.up_votes", "p.id"],
  price: ["-v.estimated_credits", "p.uses", "p.id"],
} as const;
/** Includes videos: only searches leave them out, as the specification says. */
const IS_LISTED = `${IS_LIVE} and v.id = p.latest_version_id`;
const FROM = "prompts p join prompt_versions v on v.prompt_id = p.id";

/** Lists a page of ids of published prompts. Null: `after` is not a listed prompt. */
export async function listBrowsed(db: Queryable, browse: Browse, page: BrowsePage): Promise<string[] | null> {
  const { among, limit } = page;
  const { where, values, add } = createFilters([IS_LISTED], []);
  const { modality, model, tag } = browse;
  add((given) => `v.modality = ${given}`, modality === undefined ? undefined : MODALITY_NUMBERS[modality]);
  add((given) => `v.model = ${given}`, model);
  add((given) => `exists (select 1 from json_array_elements_text(v.tags) tag where tag = ${given})`, tag);
  const rank = among === null ? ORDERS[browse.sort] : [`-array_position($${values.push(among)}::uuid[], p.id)`];
  if (among !== null) where.push(`p.id = any($${values.length})`);
  const after = page.after?.toLowerCase();
  if (after !== undefined) {
    const cursor = `$${values.push(after)}`;
    const known = await db.query(`select 1 from ${FROM} where p.id = $1 and ${IS_LISTED}`, [after]);
    if (known.length === 0) return null;
    where.push(`(${rank.join()}) < (select ${rank.join()} from ${FROM} where p.id = ${cursor} and ${IS_LISTED})`);
  }
  const text = `select p.id from ${FROM} where ${where.join(" and ")} order by ${rank.map((one) => `(${one}) desc`).join()} limit ${limit}`;
  return (await db.query<{ id: string }>(text, values)).map(({ id }) => id);
}

/** What a card shows in addition to the /v1 fields. */
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

/** Finds the latest version of the published prompt with this slug, including videos. */
export async function findBySlug(
  db: Database,
  slug: string,
): Promise<{ readonly prompt: FoundPrompt; readonly labels: readonly PromptLabel[] } | null> {
  const [known] = await db.query<{ id: string; labels: PromptLabel[] }>(
    `select p.id, ${LABELS} from prompts p join prompt_versions v on v.id = p.latest_version_id
     where p.slug = $1 and ${IS_LIVE}`,
    [slug],
  );
  if (known === undefined) return null;
  const [prompt] = await findSearchRows(db, [known.id], { withVideos: true });
  return prompt === undefined ? null : { prompt, labels: known.labels };
}

export function listPublicVersions(
  db: Queryable,
  promptId: string,
  query: PageQuery,
): Promise<Page<MarketplaceVersion>> {
  return readPage(db, query, {
    what: "version",
    columns: `v.id as "promptVersionId", v.number as version, v.title, v.published_at as "publishedAt", v.note,
      v.id = p.latest_version_id as "isLatest",
      array(select l.label from prompt_labels l where l.prompt_id = p.id and l.prompt_version_id = v.id
        order by l.label) as labels`,
    from: "prompt_versions v join prompts p on p.id = v.prompt_id",
    where: `v.prompt_id = $1 and ${IS_LIVE}`,
    values: [promptId],
    id: "v.id",
  });
}
