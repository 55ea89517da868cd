import type { Database } from "../platform/database/database.ts";

/** Accounts with earnings that are not collected, in the order of their ids. */
export function listUncollected(db: Database, after: string): Promise<{ account_id: string }[]> {
  return db.query(
    `select distinct author_id as account_id from credit_earnings
     where collected_at is null and author_id > $1 order by author_id limit 1000`,
    [after],
  );
}

/** @returns how many bookings were collected; there may be more unless it is 0. */
export async function collectSome(db: Database, accountId: string): Promise<number> {
  const rows = await db.query<{ bookings: number }>("select credit_collect($1) as bookings", [accountId]);
  return rows[0]?.bookings ?? 0;
}
