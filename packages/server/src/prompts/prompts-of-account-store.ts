/** Deletes or exports the prompts of an account that is deleted or exported. */
import type { Database, Queryable, Tx } from "../platform/database/database.ts";

/** Lists the ids of currently published prompts. */
async function listPublishedOf(db: Queryable, authorId: string, limit: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    "select id from prompts where author_id = $1 and latest_version_id is not null and unpublished_at is null limit $2",
    [authorId, limit],
  );
  return rows.map(({ id }) => id);
}

/** Stops the author's earnings: nobody could spend them. */
async function endShares(tx: Tx, authorId: string): Promise<void> {
  await tx.query("update prompts set author_share = 0 where author_id = $1 and author_share is distinct from 0", [
    authorId,
  ]);
}

/** Withdraws the account's votes. A person who signs up again can vote again. */
async function withdrawVotes(tx: Tx, accountId: string): Promise<void> {
  await tx.query(
    `with gone as (delete from prompt_votes where account_id = $1 returning prompt_id),
     locked as materialized (
       select p.id from prompts p join gone on gone.prompt_id = p.id order by p.id for update of p)
     update prompts p set up_votes = p.up_votes - 1 from locked where p.id = locked.id`,
    [accountId],
  );
}

/**
 * Deletes drafts, everything that was never published, and samples, whose runs and pictures are gone. No other
 * account's run needs them, since test runs are the author's own.
 */
async function deleteDraftsOf(tx: Tx, authorId: string): Promise<void> {
  const own = "select id from prompts where author_id = $1";
  await tx.query(`delete from prompt_drafts where prompt_id in (${own})`, [authorId]);
  await tx.query(`delete from prompt_samples where prompt_id in (${own})`, [authorId]);
  await tx.query(
    `delete from prompt_versions where prompt_id in (${own}) and published_at is null
       and not exists (select 1 from runs r where r.prompt_version_id = prompt_versions.id and r.finished_at is null)`,
    [authorId],
  );
  await tx.query(
    `delete from prompts p where p.author_id = $1 and p.latest_version_id is null
       and not exists (select 1 from prompt_versions v where v.prompt_id = p.id)`,
    [authorId],
  );
}

/** What remains of an erased version, in the shapes that readers of old rows expect. */
const NOTHING = {
  definition: { inputs: [], images: [], steps: [] },
  samples: { inputs: { textInputs: {}, imageInputs: [] }, outputs: [] },
} as const;

/**
 * Erases the template, texts, and samples of every version. Rows and slugs stay, because other accounts' runs refer to
 * them and nobody should take over a name that callers know. `published_at` stays too, since a version without it is a
 * draft, and drafts are deleted. False: an unfinished run still needs one of the versions.
 */
async function erasePromptsOf(db: Database, authorId: string): Promise<boolean> {
  return db.tx(async (tx) => {
    const [needed] = await tx.query(
      `select 1 from runs r join prompt_versions v on v.id = r.prompt_version_id join prompts p on p.id = v.prompt_id
       where r.finished_at is null and p.author_id = $1 limit 1`,
      [authorId],
    );
    if (needed !== undefined) return false;
    await tx.query("select set_config('promptd.erases', 'on', true)");
    await tx.query("update prompts set latest_version_id = null where author_id = $1", [authorId]);
    await tx.query(
      `update prompt_versions v set title = 'Deleted prompt', description = '', tags = '[]', definition = $2, config = $3,
         samples = $4, note = null, source = null, published_by = null
       from prompts p where p.id = v.prompt_id and p.author_id = $1 and v.published_at is not null`,
      [authorId, JSON.stringify(NOTHING.definition), "{}", JSON.stringify(NOTHING.samples)],
    );
    await tx.query("delete from prompt_labels where prompt_id in (select id from prompts where author_id = $1)", [
      authorId,
    ]);
    return true;
  });
}

interface ExportedVersion {
  readonly id: string;
  readonly slug: string;
  readonly number: number | null;
  /** The text that was published; null: an older release published it. */
  readonly source: string | null;
}

/** Lists the versions of an account's prompts by id, with everything that their author wrote. */
function listVersionsOf(
  db: Queryable,
  authorId: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<ExportedVersion[]> {
  return db.query(
    `select v.id, p.slug, v.number, p.id as "promptId", v.title, v.description, v.tags, v.model, v.definition, v.config,
       v.samples, v.note, v.source, v.created_at as "createdAt", v.published_at as "publishedAt",
       p.unpublished_at as "unpublishedAt", p.uses, p.up_votes as "upVotes"
     from prompts p join prompt_versions v on v.prompt_id = p.id
     where p.author_id = $1 and v.id > $2 order by v.id limit $3`,
    [authorId, after, limit],
  );
}

function listDraftsOf(db: Queryable, authorId: string): Promise<{ readonly slug: string; readonly source: string }[]> {
  return db.query(
    "select p.slug, d.source from prompts p join prompt_drafts d on d.prompt_id = p.id where p.author_id = $1 order by p.id",
    [authorId],
  );
}

/** Exported as one object, because only account deletion and export use them. */
export const promptsOfAccount = {
  listPublishedOf,
  endShares,
  withdrawVotes,
  deleteDraftsOf,
  erasePromptsOf,
  listVersionsOf,
  listDraftsOf,
} as const;
