/** SQL for drafts (migration 0021). */
import type { PriceOfPrompt } from "@promptd/contract/manage";
import { queryAnswer } from "../../platform/database/answers.ts";
import type { Queryable, Tx } from "../../platform/database/database.ts";

export interface Draft {
  readonly promptId: string;
  readonly source: string;
  readonly revision: number;
  readonly baseVersionId: string | null;
  readonly frozenVersionId: string | null;
  readonly latestVersionId: string | null;
}

const SELECT = `select d.prompt_id as "promptId", d.source, d.revision, d.base_version_id as "baseVersionId",
    d.frozen_version_id as "frozenVersionId", p.latest_version_id as "latestVersionId"
  from prompt_drafts d join prompts p on p.id = d.prompt_id where p.author_id = $1 and p.id = $2`;

export function findDraft(db: Queryable, accountId: string, promptId: string): Promise<Draft | null> {
  return queryAnswer(db, SELECT, [accountId, promptId]);
}

/** Locks the draft: nobody can save or publish it until the transaction ends. */
export function lockDraft(tx: Tx, accountId: string, promptId: string): Promise<Draft | null> {
  return queryAnswer(tx, `${SELECT} for update of d`, [accountId, promptId]);
}

/**
 * Counts the account's prompts that have a draft and were never published. Locks the account, so that none is added
 * meanwhile.
 */
export async function countNewDrafts(tx: Tx, accountId: string): Promise<number> {
  await tx.query("select 1 from accounts where id = $1 for no key update", [accountId]);
  const text = `select count(*)::int as count from prompts p join prompt_drafts d on d.prompt_id = p.id
    where p.author_id = $1 and p.latest_version_id is null`;
  return (await tx.query<{ count: number }>(text, [accountId]))[0]?.count ?? 0;
}

export interface DraftText {
  readonly promptId: string;
  readonly source: string;
  readonly title: string;
  /** A person. */
  readonly savedBy: string | null;
}

/** Adds a prompt that has only a draft. It gets its final slugs when it is published. */
export async function insertNewDraft(tx: Tx, accountId: string, slug: string, draft: DraftText): Promise<void> {
  const { promptId } = draft;
  await tx.query("insert into prompts (id, author_id, own_slug, slug) values ($1, $2, $3, $3)", [
    promptId,
    accountId,
    slug,
  ]);
  await insertDraft(tx, draft);
}

/** Adds a draft to a published prompt. False: it already has one. */
export async function insertDraft(db: Queryable, { promptId, source, title, savedBy }: DraftText): Promise<boolean> {
  const text = `insert into prompt_drafts (prompt_id, source, title, saved_by, base_version_id)
    select $1, $2, $3, $4, p.latest_version_id from prompts p where p.id = $1
    on conflict (prompt_id) do nothing returning 1`;
  return (await db.query(text, [promptId, source, title, savedBy])).length > 0;
}

/** False: the draft is no longer at this revision. */
export async function updateDraft(
  db: Queryable,
  { promptId, source, title, savedBy }: DraftText,
  revision: number,
): Promise<boolean> {
  const text = `update prompt_drafts set source = $2, title = $3, saved_by = $4, saved_at = promptd_now(),
      revision = revision + 1, frozen_version_id = null
    where prompt_id = $1 and revision = $5 returning 1`;
  return (await db.query(text, [promptId, source, title, savedBy, revision])).length > 0;
}

export async function setFrozenVersion(tx: Tx, promptId: string, promptVersionId: string): Promise<void> {
  await tx.query("update prompt_drafts set frozen_version_id = $2 where prompt_id = $1", [promptId, promptVersionId]);
}

/** Finds the version that this text was frozen as, with this model in place of its own; null: there is none yet. */
export async function findFrozenWith(
  db: Queryable,
  { promptId, source, model }: { readonly promptId: string; readonly source: string; readonly model: string },
): Promise<string | null> {
  const text = `select id from prompt_versions where prompt_id = $1 and published_at is null and model = $2
    and source = $3 and id is distinct from (select frozen_version_id from prompt_drafts where prompt_id = $1) order by id desc limit 1`;
  return (await db.query<{ id: string }>(text, [promptId, model, source]))[0]?.id ?? null;
}

/** Finds a version that was frozen for a test run; null: it belongs to another prompt or account, or is published. */
export function findFrozenVersion(
  db: Queryable,
  { accountId, promptId, promptVersionId }: { accountId: string; promptId: string; promptVersionId: string },
): Promise<{ readonly source: string | null; readonly price: PriceOfPrompt } | null> {
  const text = `select v.source, json_build_object('typical', v.estimated_credits,
      'most', coalesce(v.credits_required, v.estimated_credits)) as price from prompt_versions v join prompts p on p.id = v.prompt_id
    where p.author_id = $1 and p.id = $2 and v.id = $3 and v.published_at is null`;
  return queryAnswer(db, text, [accountId, promptId, promptVersionId]);
}

/** Null: there was no draft. */
export function deleteDraftRow(tx: Tx, accountId: string, promptId: string): Promise<{ isNew: boolean } | null> {
  const text = `delete from prompt_drafts d using prompts p where d.prompt_id = $2 and p.id = $2 and p.author_id = $1
    returning p.latest_version_id is null as "isNew"`;
  return queryAnswer(tx, text, [accountId, promptId]);
}

/** Deletes a prompt that has no versions. A prompt with test runs stays, for their sake, but appears in no list. */
export async function deleteEmptyPrompt(tx: Tx, promptId: string): Promise<void> {
  const text = `delete from prompts p where p.id = $1
    and not exists (select 1 from prompt_versions v where v.prompt_id = p.id)`;
  await tx.query(text, [promptId]);
}
