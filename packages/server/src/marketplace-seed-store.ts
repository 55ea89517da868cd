import { queryAnswer } from "./platform/database/answers.ts";
import type { Queryable, Tx } from "./platform/database/database.ts";

/** The account that publishes the seed prompts, whose texts are public. */
export const SEED_AUTHOR = "seed@promptd.invalid";

const LOCK = 18_020; // migrations 18016, claim 18017, sweep 18018, index and publishing 18019

export async function lockSeed(tx: Tx): Promise<void> {
  await tx.query("set local lock_timeout = 0");
  await tx.query("select pg_advisory_xact_lock($1)", [LOCK]);
}

/** True while the seed is not marked as done and only the seed's own accounts exist. */
export async function isUnseeded(tx: Tx, ownEmails: readonly string[]): Promise<boolean> {
  const [row] = await tx.query<{ unseeded: boolean }>(
    `select not exists (select 1 from installation_facts where name = 'seeded')
       and not exists (select 1 from accounts where email <> all ($1)) as unseeded`,
    [ownEmails],
  );
  return row?.unseeded === true;
}

export async function markSeeded(tx: Tx): Promise<void> {
  await tx.query("insert into installation_facts (name) values ('seeded')");
}

/** The latest version of a published prompt, by slug. */
export function findLatestVersion(db: Queryable, slug: string): Promise<{ id: string; model: string } | null> {
  const text = `select v.id, v.model from prompts p join prompt_versions v on v.id = p.latest_version_id
    where p.slug = $1 and p.unpublished_at is null`;
  return queryAnswer(db, text, [slug]);
}
