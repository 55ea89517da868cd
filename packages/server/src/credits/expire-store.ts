import type { Database } from "../platform/database/database.ts";

/**
 * Accounts with expired grants, in the order of their ids. The time is read in a subquery, because a volatile function is
 * never an index condition, and not in this process, whose dates would cut it to milliseconds.
 */
export function listExpired(db: Database, after: string): Promise<{ account_id: string }[]> {
  return db.query(
    `select distinct account_id from credit_grants
     where remaining > 0 and expires_at <= (select promptd_now()) and account_id > $1 order by account_id limit 1000`,
    [after],
  );
}

export async function expireOf(db: Database, accountId: string): Promise<void> {
  await db.query("select credit_expire($1)", [accountId]);
}
