import type { Database, Queryable } from "../platform/database/database.ts";

export interface Account {
  readonly accountId: string;
  readonly email: string;
  readonly username: string | null;
  readonly displayName: string | null;
  readonly userFlags: number;
  /** Milliseconds since 1970; Infinity: without an end; -Infinity: never had a plan. */
  readonly proUntilMs: number;
  readonly isPro: boolean;
}

interface AccountRow {
  id: string;
  email: string;
  username: string | null;
  display_name: string | null;
  user_flags: number;
  pro_until: Date | number;
  pro: boolean;
}

const COLUMNS = "id, email, username, display_name, user_flags, pro_until, pro_until > promptd_now() as pro";

export async function findAccount(db: Database, accountId: string): Promise<Account | null> {
  const rows = await db.named<AccountRow>("account_get", `select ${COLUMNS} from accounts where id = $1`, [accountId]);
  return rows[0] === undefined ? null : toAccount(rows[0]);
}

/** By e-mail address or, when `who` is a UUID, by id. */
export async function findAccountByName(db: Queryable, who: string): Promise<Account | null> {
  const rows = await db.query<AccountRow>(
    `select ${COLUMNS} from accounts where email = lower($1) or id::text = lower($1)`,
    [who],
  );
  return rows[0] === undefined ? null : toAccount(rows[0]);
}

export interface NewAccount {
  readonly accountId: string;
  readonly email: string;
  readonly username: string | null;
  readonly displayName: string | null;
  /** ISO 8601, 'infinity' or '-infinity'. */
  readonly proUntil: string;
}

/** @returns false when the e-mail address or the user name is taken. */
export async function insertAccount(db: Queryable, account: NewAccount): Promise<boolean> {
  const rows = await db.query(
    `insert into accounts (id, email, username, display_name, pro_until) values ($1, lower($2), $3, $4, $5)
     on conflict do nothing returning id`,
    [account.accountId, account.email, account.username, account.displayName, account.proUntil],
  );
  return rows.length > 0;
}

export async function updatePlan(db: Queryable, accountId: string, proUntil: string): Promise<void> {
  await db.query("update accounts set pro_until = $2 where id = $1", [accountId, proUntil]);
}

/** A plan that lasts ends now. One that has ended, or never was (-infinity), stays as it is: they are different 402s. */
export async function endPlan(db: Queryable, accountId: string): Promise<void> {
  await db.query("update accounts set pro_until = least(pro_until, promptd_now()) where id = $1", [accountId]);
}

/** Sets bits of `userFlags` (USER_FLAGS of the contract); those that are set already cost no write. */
export async function addUserFlags(db: Queryable, accountId: string, flags: number): Promise<void> {
  const text = "update accounts set user_flags = user_flags | $2 where id = $1 and user_flags & $2 <> $2";
  await db.query(text, [accountId, flags]);
}

export interface NewKey {
  readonly keyId: string;
  readonly accountId: string;
  readonly keyHash: Buffer;
  readonly name: string;
  readonly display: string;
}

/** Under the account's row lock, so that two callers cannot pass the limit together. @returns false at the limit. */
export async function insertKey(db: Database, key: NewKey, keysMax: number): Promise<boolean> {
  return db.tx(async (tx) => {
    await tx.query("select 1 from accounts where id = $1 for update", [key.accountId]);
    const rows = await tx.query(
      `insert into api_keys (id, account_id, key_hash, name, display) select $1, $2, $3, $4, $5
       where (select count(*) from api_keys where account_id = $2 and revoked_at is null) < $6 returning id`,
      [key.keyId, key.accountId, key.keyHash, key.name, key.display, keysMax],
    );
    return rows.length > 0;
  });
}

/** Revokes once: a key that is revoked already stays at its first time. @returns that time, or null when no key has the id. */
export async function revokeKey(db: Queryable, keyId: string): Promise<Date | null> {
  const rows = await db.query<{ revoked_at: Date }>(
    "update api_keys set revoked_at = coalesce(revoked_at, promptd_now()) where id = $1 returning revoked_at",
    [keyId],
  );
  return rows[0]?.revoked_at ?? null;
}

/** One statement for all keys used since the last call; `usedAtMs` in milliseconds since 1970. */
export async function recordKeyUse(db: Queryable, uses: ReadonlyMap<string, number>): Promise<void> {
  await db.query(
    `update api_keys k set last_used_at = greatest(k.last_used_at, to_timestamp(used.ms / 1000.0))
     from unnest($1::uuid[], $2::bigint[]) used (id, ms) where k.id = used.id`,
    [[...uses.keys()], [...uses.values()]],
  );
}

function toAccount(row: AccountRow): Account {
  return {
    accountId: row.id,
    email: row.email,
    username: row.username,
    displayName: row.display_name,
    userFlags: row.user_flags,
    proUntilMs: Number(row.pro_until),
    isPro: row.pro,
  };
}

/** Whether a key with this hash exists and is not revoked. */
export async function hasLiveKey(db: Queryable, keyHash: Buffer): Promise<boolean> {
  const rows = await db.query("select 1 from api_keys where key_hash = $1 and revoked_at is null", [keyHash]);
  return rows.length > 0;
}
