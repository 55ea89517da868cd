import type { Database } from "../platform/database/database.ts";

const BATCH = 1_000;

/**
 * Accounts with expired grants, in the order of their ids. The time is read in a subquery, because a volatile function is
 * never an index condition, and not in this process, whose dates would cut it to milliseconds.
 */
export function listExpired(db: Database, after: string): Promise<string[]> {
  return listAccounts(
    db,
    `select distinct account_id from credit_grants
     where remaining > 0 and expires_at <= (select promptd_now()) and account_id > $1 order by account_id limit ${BATCH}`,
    after,
  );
}

/** Accounts with earnings that are not collected, in the order of their ids. */
export function listUncollected(db: Database, after: string): Promise<string[]> {
  return listAccounts(
    db,
    `select distinct author_id as account_id from credit_earnings
     where collected_at is null and author_id > $1 order by author_id limit ${BATCH}`,
    after,
  );
}

async function listAccounts(db: Database, text: string, after: string): Promise<string[]> {
  return (await db.query<{ account_id: string }>(text, [after])).map((row) => row.account_id);
}

export async function expireOf(db: Database, accountId: string): Promise<void> {
  await db.query("select credit_expire($1)", [accountId]);
}

/** @returns how many bookings were collected; there may be more unless it is 0. */
export async function collectOf(db: Database, accountId: string): Promise<number> {
  const rows = await db.query<{ bookings: number }>("select credit_collect($1) as bookings", [accountId]);
  return rows[0]?.bookings ?? 0;
}
