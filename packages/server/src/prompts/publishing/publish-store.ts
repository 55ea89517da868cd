/** SQL for publishing. It works in arrays, 500 rows at a time. */
import { queryAnswer, queryAnswers } from "../../platform/database/answers.ts";
import type { Database, Queryable, Tx } from "../../platform/database/database.ts";
import type { PlannedVersion } from "../inputs/step-plans.ts";
import type { LiveVersion, PriceEstimates, PromptContent } from "../prompt-definition.ts";
import type { IndexedVersion } from "../../search/index.ts";
import { IS_SEARCHED, MODALITY_NUMBERS } from "../prompts-store.ts";

/**
 * Everything that publishes or unpublishes takes this lock first, so prompts, versions, and index are locked in one
 * order.
 */
const PUBLISH_LOCK = 18_019;

export async function lockPublishing(tx: Tx): Promise<void> {
  await tx.query("set local lock_timeout = 0"); // a bulk import may hold the lock for a minute
  await tx.query("select pg_advisory_xact_lock($1)", [PUBLISH_LOCK]);
}

const LOCK_WAIT_MS_MAX = 60_000;

/**
 * Runs a transaction with exclusive access to publishing. It may wait longer than the usual statement timeout, for a
 * bulk import.
 */
export function underPublishingLock<Result>(db: Database, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  const locked = async (tx: Tx) => {
    await lockPublishing(tx);
    return work(tx);
  };
  return db.tx(locked, { statementTimeoutMs: LOCK_WAIT_MS_MAX });
}

/** The author's prompts by their own slug. */
export async function listOwnSlugs(db: Queryable, authorId: string): Promise<Map<string, string>> {
  const text = "select own_slug, id from prompts where author_id = $1";
  const rows = await db.query<{ own_slug: string; id: string }>(text, [authorId]);
  return new Map(rows.map((row) => [row.own_slug, row.id]));
}

/** Selects the ids that belong to the author. */
export async function listOwnIds(db: Queryable, authorId: string, promptIds: readonly string[]): Promise<Set<string>> {
  const text = "select id from prompts where author_id = $1 and id = any($2::uuid[])";
  const rows = await db.query<{ id: string }>(text, [authorId, promptIds]);
  return new Set(rows.map(({ id }) => id));
}

/** The titles of the latest versions of these prompts. */
export async function listTitles(tx: Tx, promptIds: readonly string[]): Promise<Map<string, string>> {
  const text = `select p.id, v.title from prompts p join prompt_versions v on v.id = p.latest_version_id
    where p.id = any($1::uuid[])`;
  const rows = await tx.query<{ id: string; title: string }>(text, [promptIds]);
  return new Map(rows.map((row) => [row.id, row.title]));
}

export interface PromptRow {
  readonly id: string;
  readonly slug: string;
  readonly isUnpublished: boolean;
  /** Why an operator unpublished it; null: no operator did. */
  readonly blockReason: string | null;
}

export async function listPrompts(tx: Tx, promptIds: readonly string[]): Promise<Map<string, PromptRow>> {
  const text = `select id, slug, unpublished_at is not null as "isUnpublished",
      case when blocked_at is not null then block_reason end as "blockReason"
    from prompts where id = any($1::uuid[])`;
  const rows = await tx.query<PromptRow>(text, [promptIds]);
  return new Map(rows.map((row) => [row.id, row]));
}

export async function listTakenSlugs(tx: Tx, slugs: readonly string[]): Promise<Set<string>> {
  const rows = await tx.query<{ slug: string }>("select slug from prompts where slug = any($1)", [slugs]);
  return new Set(rows.map((row) => row.slug));
}

export interface LatestContent extends PromptContent {
  readonly promptId: string;
  readonly promptVersionId: string;
}

/** The latest published version of each of these prompts. */
export function listLatestContents(db: Queryable, promptIds: readonly string[]): Promise<LatestContent[]> {
  const text = `select p.id as "promptId", v.id as "promptVersionId", v.title, v.description, v.tags, v.model,
      v.definition, v.samples
    from prompts p join prompt_versions v on v.id = p.latest_version_id where p.id = any ($1::uuid[])`;
  return db.query<LatestContent>(text, [promptIds]);
}

export interface FoundContent extends LatestContent {
  readonly slug: string;
  readonly authorId: string;
  /** The author's file; null: unknown. */
  readonly text: string | null;
}

/**
 * The latest published version of a prompt, unpublished or not.
 * @param name a promptId or a slug: the public slug, or with an author, the author's own slug.
 */
export function findLatestContent(db: Queryable, name: string, authorId: string | null): Promise<FoundContent | null> {
  const text = `select p.id as "promptId", v.id as "promptVersionId", p.own_slug as slug, p.author_id as "authorId",
      v.title, v.description, v.tags, v.model, v.definition, v.samples, v.source as text
    from prompts p join prompt_versions v on v.id = p.latest_version_id
    where p.id::text = lower($1) or case when $2::uuid is null then p.slug = $1
      else p.author_id = $2::uuid and p.own_slug = $1 end
    order by p.id::text = lower($1) desc limit 1`;
  return queryAnswer(db, text, [name, authorId]);
}

export interface ListedPrompt {
  readonly promptId: string;
  readonly promptVersionId: string;
  readonly slug: string;
  readonly title: string;
  readonly model: string;
  /** How many versions were published. */
  readonly versions: number;
  readonly isPublished: boolean;
  readonly estimatedCredits: number;
  readonly uses: number;
  readonly publishedAt: string;
}

/** Lists the prompts of one author, or (null) of all, by slug. Leaves out prompts that were never published. */
export function listLatestPrompts(db: Queryable, authorId: string | null): Promise<ListedPrompt[]> {
  const text = `select p.id as "promptId", v.id as "promptVersionId", p.slug, v.title, v.model,
      (select count(*)::int from prompt_versions o where o.prompt_id = p.id and o.published_at is not null) as versions,
      p.unpublished_at is null as "isPublished", v.estimated_credits as "estimatedCredits", p.uses,
      v.published_at as "publishedAt"
    from prompts p join prompt_versions v on v.id = p.latest_version_id
    where $1::uuid is null or p.author_id = $1::uuid order by p.slug`;
  return queryAnswers(db, text, [authorId]);
}

export interface NewPrompt {
  readonly id: string;
  readonly ownSlug: string;
  readonly slug: string;
}

export async function insertPrompts(tx: Tx, authorId: string, prompts: readonly NewPrompt[]): Promise<void> {
  const text = `insert into prompts (id, author_id, own_slug, slug)
    select id, $1, "ownSlug", slug from json_to_recordset($2::json) new (id uuid, "ownSlug" text, slug text)`;
  await tx.query(text, [authorId, JSON.stringify(prompts)]);
}

/** Gives never-published prompts the slugs that they are published under. */
export async function nameOwnPrompts(tx: Tx, prompts: readonly NewPrompt[]): Promise<void> {
  const text = `update prompts p set own_slug = new."ownSlug", slug = new.slug
    from json_to_recordset($1::json) new (id uuid, "ownSlug" text, slug text) where p.id = new.id`;
  if (prompts.length > 0) await tx.query(text, [JSON.stringify(prompts)]);
}

export interface NewVersion
  extends PromptContent, Pick<LiveVersion, "promptId" | "modality" | "config">, PriceEstimates {
  readonly id: string;
  /** The text of its file; null: unknown. */
  readonly text: string | null;
}

/** What all versions of one publication have in common. */
export interface VersionNote {
  /** The author's reason; null: none given. */
  readonly note: string | null;
  /** The person; null: an operator's command. */
  readonly publishedBy: string | null;
}

/**
 * Inserts versions, numbered after the prompt's highest number; one version per prompt and call. With `isFrozen`, they
 * have no number and no published_at.
 */
export async function insertVersions(
  tx: Tx,
  versions: readonly NewVersion[],
  {
    estimateBasis,
    isFrozen = false,
    note = null,
    publishedBy = null,
  }: Partial<VersionNote> & { readonly estimateBasis: string; readonly isFrozen?: boolean },
): Promise<void> {
  const text = `insert into prompt_versions (id, prompt_id, number, title, description, tags, model, modality, definition,
      config, samples, source, estimated_credits, credits_required, estimate_basis, note, published_by, published_at)
    select new.id, "promptId", case when not $3 then
        1 + coalesce((select max(v.number) from prompt_versions v where v.prompt_id = "promptId"), 0) end,
      title, description, tags, model, modality, definition, config, samples, text, "estimatedCredits",
      "creditsRequired", $2, $4::text, $5::uuid, case when not $3 then promptd_now() end
    from json_to_recordset($1::json) new (id uuid, "promptId" uuid, title text, description text, tags json, model text,
      modality smallint, definition json, config json, samples json, text text, "estimatedCredits" int, "creditsRequired" int)`;
  const rows = versions.map((version) => ({ ...version, modality: MODALITY_NUMBERS[version.modality] }));
  await tx.query(text, [JSON.stringify(rows), estimateBasis, isFrozen, note, publishedBy]);
}

/** Makes these the latest versions. Unpublished prompts are published again. */
export async function setLatestVersions(tx: Tx, versions: readonly { id: string; promptId: string }[]): Promise<void> {
  const text = `update prompts p set latest_version_id = new.id, unpublished_at = null
    from unnest($1::uuid[], $2::uuid[]) new (id, prompt_id) where p.id = new.prompt_id`;
  await tx.query(text, [versions.map((version) => version.id), versions.map((version) => version.promptId)]);
}

/** The numbers of published versions. */
export async function listVersionNumbers(tx: Tx, versionIds: readonly string[]): Promise<Map<string, number>> {
  const text = "select id, number from prompt_versions where id = any ($1::uuid[]) and number is not null";
  const rows = await tx.query<{ id: string; number: number }>(text, [versionIds]);
  return new Map(rows.map(({ id, number }) => [id, number]));
}

/** Stores new texts for these versions. They have the same content, but comments and tests may differ. */
export async function setVersionTexts(
  tx: Tx,
  texts: readonly { readonly promptVersionId: string; readonly text: string }[],
): Promise<void> {
  const text = `update prompt_versions v set source = new.source from unnest($1::uuid[], $2::text[]) new (id, source)
    where v.id = new.id and v.source is distinct from new.source`;
  if (texts.length === 0) return;
  await tx.query(text, [texts.map((each) => each.promptVersionId), texts.map((each) => each.text)]);
}

/**
 * False: no prompt with this id was ever published. If an operator has blocked the prompt, it gets a different time
 * than the block; with the same time, it would be published again when the operator allows it.
 */
export async function markUnpublished(tx: Tx, promptId: string): Promise<boolean> {
  const text = `update prompts set unpublished_at = case
      when unpublished_at = blocked_at then promptd_now() else coalesce(unpublished_at, promptd_now()) end
    where id = $1 and latest_version_id is not null returning id`;
  return (await tx.query(text, [promptId])).length > 0;
}

/** False: no prompt with this id was ever published. */
export async function markPublished(tx: Tx, promptId: string): Promise<boolean> {
  const text = "update prompts set unpublished_at = null where id = $1 and latest_version_id is not null returning id";
  return (await tx.query(text, [promptId])).length > 0;
}

export type SearchedText = IndexedVersion & Pick<PromptContent, "title" | "description" | "tags" | "definition">;

/** Lists the content of these prompts that goes into the search index. Leaves out prompts that are not searched. */
export function listSearchedTexts(db: Queryable, promptIds: readonly string[]): Promise<SearchedText[]> {
  const text = `select v.prompt_id as "promptId", v.id as "promptVersionId", v.title, v.description, v.tags, v.definition
    from prompts p join prompt_versions v on v.prompt_id = p.id where p.id = any ($1::uuid[]) and ${IS_SEARCHED}`;
  return db.query<SearchedText>(text, [promptIds]);
}
/** Lists versions whose estimate was made with other prices, older versions too: they can be read and run by id. */
export function listStaleEstimates(
  db: Queryable,
  basis: string,
  limit: number,
): Promise<(PlannedVersion & { readonly id: string })[]> {
  const text = `select v.id, v.model, v.definition from prompt_versions v
    where v.estimate_basis <> $1 order by v.id limit $2`;
  return db.query(text, [basis, limit]);
}

export async function setEstimates(
  db: Queryable,
  basis: string,
  estimates: readonly (PriceEstimates & { readonly id: string })[],
): Promise<void> {
  const text = `update prompt_versions v
    set estimated_credits = new."estimatedCredits", credits_required = new."creditsRequired", estimate_basis = $1
    from json_to_recordset($2::json) new (id uuid, "estimatedCredits" int, "creditsRequired" int) where v.id = new.id`;
  await db.query(text, [basis, JSON.stringify(estimates)]);
}
