import type { Queryable } from "../../platform/database/database.ts";

export interface AttemptCount {
  /** Number of attempts within the window, including this one. */
  readonly count: number;
  /** Time until the window ends. */
  readonly msLeft: number;
}

/**
 * Counts attempts, in the same rows that limit sign-ins. The window begins with the first attempt. A window that begins
 * later than it could has been counted before the clock stepped back, and is over.
 */
export async function countAttempt(db: Queryable, key: string, windowMs: number): Promise<AttemptCount> {
  const isOpen =
    "stored.last_request > excluded.last_request - $2 and stored.last_request < excluded.last_request + $2";
  const [row] = await db.query<AttemptCount>(
    `insert into auth_rate_limits as stored (id, key, count, last_request)
     values (gen_random_uuid(), $1, 1, extract(epoch from promptd_now()) * 1000)
     on conflict (key) do update set
       count = case when ${isOpen} then stored.count + 1 else 1 end,
       last_request = case when ${isOpen} then stored.last_request else excluded.last_request end
     returning count, (last_request + $2 - extract(epoch from promptd_now()) * 1000)::float8 as "msLeft"`,
    [key, windowMs],
  );
  return row ?? { count: 1, msLeft: windowMs };
}

/**
 * Limits requests per address, in the form better-auth requires. Its own limiter would remove every row older than a
 * minute.
 */
export function limiterOfAttempts(db: Queryable) {
  return {
    async consume(key: string, { window, max }: { readonly window: number; readonly max: number }) {
      const { count, msLeft } = await countAttempt(db, key, window * 1_000);
      return { allowed: count <= max, retryAfter: Math.max(1, Math.ceil(msLeft / 1_000)) };
    },
  };
}

export async function forgetAttempts(db: Queryable, key: string): Promise<void> {
  await db.query("delete from auth_rate_limits where key = $1", [key]);
}
