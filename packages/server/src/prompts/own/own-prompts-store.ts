/**
 * SQL for what authors see of their prompts. Every query names the account, so another account's prompt is not found.
 */
import type {
  ListPromptsQuery,
  OwnPrompt,
  OwnPromptRow,
  OwnVersionRow,
  Page,
  PageQuery,
} from "@promptd/contract/manage";
import { queryAnswer } from "../../platform/database/answers.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { readPage } from "../../platform/database/pages.ts";
import { notFound, orNotFound } from "../../platform/problem.ts";
import { MODERATION } from "../moderation-store.ts";
import { MODALITY_NAME, type PromptOfModel } from "../prompts-store.ts";
import type { NewVersion } from "../publishing/publish-store.ts";

/**
 * True for a prompt `p` of the account, with its draft `d` if it has one. A prompt whose only draft was deleted does
 * not count.
 */
const IS_OWN = "p.author_id = $1 and (d.prompt_id is not null or p.latest_version_id is not null)";
const STATE = `case when p.latest_version_id is null then 'draft' when p.blocked_at is not null then 'blocked'
  when p.unpublished_at is not null then 'unpublished' else 'published' end`;

export const LABELS = `coalesce((
    select json_agg(json_build_object('label', l.label, 'promptVersionId', l.prompt_version_id, 'version', o.number)
      order by l.label)
    from prompt_labels l join prompt_versions o on o.id = l.prompt_version_id where l.prompt_id = p.id), '[]') as labels`;

export type OwnPromptRecord = Omit<OwnPromptRow, "last30Days" | "endingModels">;

const COLUMNS = `p.id as "promptId", coalesce(v.title, d.title, '') as title, ${STATE} as state,
  case when p.latest_version_id is not null then p.slug end as slug, p.uses, p.up_votes as "upVotes",
  p.featured_at is not null as "isFeatured", ${MODERATION}, ${LABELS},
  (select count(*)::int from prompt_versions o where o.prompt_id = p.id and o.published_at is not null) as versions,
  d.revision as "draft.revision", d.saved_at as "draft.savedAt", u.name as "draft.savedBy",
  d.base_version_id as "draft.baseVersionId",
  p.latest_version_id as "latest.promptVersionId", v.number as "latest.version", v.published_at as "latest.publishedAt",
  v.note as "latest.note", v.model as "latest.model", ${MODALITY_NAME} as "latest.modality",
  v.estimated_credits as "latest.estimatedCredits",
  coalesce(v.credits_required, v.estimated_credits) as "latest.creditsRequired"`;
const FROM = `prompts p left join prompt_drafts d on d.prompt_id = p.id left join auth_users u on u.id = d.saved_by
  left join prompt_versions v on v.id = p.latest_version_id`;

/** Lists the account's prompts that match the filters. */
export function listOwnPrompts(
  db: Queryable,
  accountId: string,
  query: ListPromptsQuery,
): Promise<Page<OwnPromptRecord>> {
  return readPage(db, query, {
    what: "prompt",
    columns: COLUMNS,
    from: FROM,
    where: `${IS_OWN} and ($2::text is null or ${STATE} = $2)
      and ($3::text is null or position(lower($3) in lower(concat_ws(' ', v.title, d.title, p.slug))) > 0)`,
    values: [accountId, query.state ?? null, query.q ?? null],
    id: "p.id",
  });
}

export function findOwnPrompt(
  db: Queryable,
  accountId: string,
  promptId: string,
): Promise<(OwnPromptRecord & Pick<OwnPrompt, "authorSharePercent">) | null> {
  const text = `select ${COLUMNS}, p.author_share as "authorSharePercent" from ${FROM} where ${IS_OWN} and p.id = $2`;
  return queryAnswer(db, text, [accountId, promptId]);
}

/** @throws Problem NOT_FOUND_ERROR, the same whether the prompt does not exist or belongs to another account. */
export async function requireOwnPrompt(db: Queryable, accountId: string, promptId: string): Promise<void> {
  const text = `select 1 from prompts p left join prompt_drafts d on d.prompt_id = p.id where ${IS_OWN} and p.id = $2`;
  if ((await db.query(text, [accountId, promptId])).length === 0) throw notFound("prompt", promptId);
}

/** Definitions have no index, so only the newest versions of a prompt are read. */
const VERSIONS_READ_MAX = 50;

/** Lists those of the newest published versions of these prompts that call one of the models, newest first. */
export function listVersionsOfModels(
  db: Queryable,
  promptIds: readonly string[],
  models: readonly string[],
): Promise<Omit<PromptOfModel, "slug" | "title">[]> {
  return db.query<Omit<PromptOfModel, "slug" | "title">>(
    `select p.id as "promptId", v.id as "promptVersionId", v.number as version, v.id = p.latest_version_id as "isLatest",
       used.models
     from prompts p
     cross join lateral (
       select o.id, o.number, o.definition from prompt_versions o
       where o.prompt_id = p.id and o.published_at is not null order by o.number desc limit ${VERSIONS_READ_MAX}) v
     cross join lateral (
       select array_agg(distinct step ->> 'model' order by step ->> 'model') as models
       from json_array_elements(v.definition -> 'steps') step where step ->> 'model' = any ($2)) used
     where p.id = any ($1::uuid[]) and used.models is not null order by p.id, v.number desc`,
    [promptIds, models],
  );
}

export type OwnVersionRecord = Omit<OwnVersionRow, "last30Days" | "endingModels">;

const VERSION_COLUMNS = `v.id as "promptVersionId", v.number as version, v.title, v.model, v.published_at as "publishedAt",
  u.name as "publishedBy", v.note, v.id = p.latest_version_id as "isLatest",
  array(select l.label from prompt_labels l where l.prompt_id = p.id and l.prompt_version_id = v.id order by l.label)
    as labels, v.estimated_credits as "estimatedCredits"`;
const VERSION_FROM = `prompt_versions v join prompts p on p.id = v.prompt_id left join auth_users u on u.id = v.published_by`;

export function listOwnVersions(db: Queryable, promptId: string, query: PageQuery): Promise<Page<OwnVersionRecord>> {
  return readPage(db, query, {
    what: "version",
    columns: VERSION_COLUMNS,
    from: VERSION_FROM,
    where: "v.prompt_id = $1 and v.published_at is not null",
    values: [promptId],
    id: "v.id",
  });
}

/** A published version, with the whole content of its file. */
export interface OwnVersionContent
  extends
    OwnVersionRecord,
    Pick<
      NewVersion,
      "promptId" | "description" | "tags" | "config" | "definition" | "samples" | "text" | "creditsRequired"
    > {
  /** The author's own slug. */
  readonly slug: string;
}

/** @param promptVersionId null: the latest. */
export function findOwnVersion(
  db: Queryable,
  promptId: string,
  promptVersionId: string | null,
): Promise<OwnVersionContent | null> {
  const text = `select ${VERSION_COLUMNS}, p.id as "promptId", p.own_slug as slug, v.description, v.tags, v.config,
      v.definition, v.samples, v.source as text, coalesce(v.credits_required, v.estimated_credits) as "creditsRequired"
    from ${VERSION_FROM}
    where v.prompt_id = $1 and v.id = coalesce($2::uuid, p.latest_version_id) and v.published_at is not null`;
  return queryAnswer(db, text, [promptId, promptVersionId]);
}

/** @throws Problem NOT_FOUND_ERROR */
export async function requireOwnVersion(
  db: Queryable,
  promptId: string,
  promptVersionId: string,
): Promise<OwnVersionContent> {
  const version = await findOwnVersion(db, promptId, promptVersionId);
  return orNotFound(version, "published version of this prompt", promptVersionId);
}

/** A prompt of the account that a file without an id refers to. */
export interface IntendedPrompt {
  readonly promptId: string;
  /** True: it was never published, and its draft has the file's title. False: it has the file's slug. */
  readonly isDraft: boolean;
}

/**
 * Finds the prompts that files without an id refer to: the prompt with the file's slug, or else the only unpublished
 * draft with its title, if no other file has that title. In the order of the files; null: the file would be a new
 * prompt.
 */
export async function findIntendedPrompts(
  db: Queryable,
  accountId: string,
  files: readonly { readonly slug: string; readonly title: string }[],
): Promise<(IntendedPrompt | null)[]> {
  const text = `select bySlug.id as "bySlug", byTitle.id as "byTitle"
    from unnest($2::text[], $3::text[]) with ordinality file (slug, title, at)
    left join prompts bySlug on bySlug.author_id = $1 and bySlug.own_slug = file.slug
    left join lateral (
      select (array_agg(p.id))[1] as id from prompts p join prompt_drafts d on d.prompt_id = p.id
      where p.author_id = $1 and p.latest_version_id is null and d.title = file.title
      having count(*) = 1 and (select count(*) from unnest($3::text[]) title where title = file.title) = 1
    ) byTitle on bySlug.id is null
    order by file.at`;
  const rows = await db.query<{ bySlug: string | null; byTitle: string | null }>(text, [
    accountId,
    files.map(({ slug }) => slug),
    files.map(({ title }) => title),
  ]);
  return rows.map(({ bySlug, byTitle }) => {
    const promptId = bySlug ?? byTitle;
    return promptId === null ? null : { promptId, isDraft: bySlug === null };
  });
}
