/** All SQL for API keys, except admission (sql/key-plan-and-rate-limit.sql) and creating runs (runs/sql/create.sql). */
import type { Page } from "@promptd/contract";
import type { Key, ListKeysQuery } from "@promptd/contract/manage";
import { queryAnswer, queryAnswers } from "../platform/database/answers.ts";
import type { Database, Queryable, Tx } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";

/** What the owner of a key decides about it. */
export type KeyTerms = Pick<Key, "name" | "expiresAt" | "monthlyCap" | "promptIds">;

/** Everything that can be shown of a key, and its account. */
export type ApiKey = Omit<Key, "last30Days"> & { readonly accountId: string };

const COLUMNS = `k.id as "keyId", k.account_id as "accountId", k.name, k.display,
  case when k.revoked_at is not null then 'revoked' when k.expires_at <= promptd_now() then 'expired' else 'valid' end as state,
  k.created_at as "createdAt", k.expires_at as "expiresAt", k.revoked_at as "revokedAt", k.last_used_at as "lastUsedAt",
  k.last_used_from as "lastUsedFrom", k.monthly_cap as "monthlyCap", coalesce((select b.used from credit_budgets b where b.account_id = k.account_id
    and b.budget_id = coalesce(k.budget_id, k.id)
    and b.month = date_trunc('month', promptd_now() at time zone 'UTC')::date), 0) as "usedThisMonth",
  k.prompt_ids as "promptIds"`;
const IS_VALID = "revoked_at is null and (expires_at is null or expires_at > promptd_now())";

export interface NewKey extends KeyTerms {
  readonly keyId: string;
  readonly accountId: string;
  readonly keyHash: Buffer;
  readonly display: string;
  /** The key that this one replaces; the two share a budget. */
  readonly rolledFrom: string | null;
}

/**
 * Locks the account's row, so that two callers together cannot exceed the key limit.
 * @returns how many keys are valid.
 */
export async function countValidKeys(tx: Queryable, accountId: string): Promise<number> {
  await tx.query("select 1 from accounts where id = $1 for update", [accountId]);
  const text = `select count(*) as count from api_keys where account_id = $1 and ${IS_VALID}`;
  const [{ count }] = (await tx.query<{ count: number }>(text, [accountId])) as [{ count: number }];
  return count;
}

export async function insertKey(tx: Queryable, key: NewKey): Promise<void> {
  await tx.query(
    `insert into api_keys (id, account_id, key_hash, name, display, expires_at, monthly_cap, prompt_ids, budget_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, (select coalesce(budget_id, id) from api_keys where id = $9))`,
    [
      key.keyId,
      key.accountId,
      key.keyHash,
      key.name,
      key.display,
      key.expiresAt,
      key.monthlyCap,
      key.promptIds,
      key.rolledFrom,
    ],
  );
}

/** Newest first. */
export function listKeys(db: Queryable, accountId: string): Promise<ApiKey[]> {
  const text = `select ${COLUMNS} from api_keys k where k.account_id = $1 order by k.created_at desc, k.id desc`;
  return queryAnswers(db, text, [accountId]);
}

/** Newest first. */
export function readKeyPage(db: Queryable, accountId: string, query: ListKeysQuery): Promise<Page<ApiKey>> {
  return readPage(db, query, {
    what: "key",
    columns: COLUMNS,
    from: "api_keys k",
    where: `k.account_id = $1${query.revoked === "without" ? " and k.revoked_at is null" : ""}`,
    values: [accountId],
    id: "k.id",
  });
}

export interface KeyOfAccount {
  readonly accountId: string;
  readonly keyId: string;
}

export function findKey(db: Queryable, { accountId, keyId }: KeyOfAccount): Promise<ApiKey | null> {
  return queryAnswer(db, `select ${COLUMNS} from api_keys k where k.account_id = $1 and k.id = $2`, [accountId, keyId]);
}

/** @returns false if the account has no such key or the key is revoked. */
export async function updateKey(db: Queryable, key: KeyOfAccount, terms: KeyTerms): Promise<boolean> {
  const rows = await db.query(
    `update api_keys set name = $3, expires_at = $4, monthly_cap = $5, prompt_ids = $6
     where account_id = $1 and id = $2 and revoked_at is null returning 1`,
    [key.accountId, key.keyId, terms.name, terms.expiresAt, terms.monthlyCap, terms.promptIds],
  );
  return rows.length > 0;
}

/** Returns the display form of the key that replaced this one; null: this key was not rolled. */
export async function findNextKey(tx: Queryable, { accountId, keyId }: KeyOfAccount): Promise<string | null> {
  const text = `select next.display from api_keys old
    join api_keys next on next.account_id = old.account_id and next.budget_id = coalesce(old.budget_id, old.id)
      and next.created_at > old.created_at
    where old.account_id = $1 and old.id = $2 order by next.created_at limit 1`;
  return (await tx.query<{ display: string }>(text, [accountId, keyId]))[0]?.display ?? null;
}

/** Sets when a rolled key expires, unless it expires earlier anyway. */
export async function expireKeyIn(tx: Queryable, keyId: string, seconds: number): Promise<void> {
  await tx.query(
    "update api_keys set expires_at = least(expires_at, promptd_now() + make_interval(secs => $2)) where id = $1",
    [keyId, seconds],
  );
}

/** How a key is named: by id, by display form, or by the hash of the key itself. */
export type KeyName = { readonly keyId: string } | { readonly display: string } | { readonly keyHash: Buffer };

/**
 * Finds keys of all accounts; only a display form can match several. Display forms have no index, because only
 * operators search by them.
 */
export function findKeysByName(db: Queryable, name: KeyName): Promise<ApiKey[]> {
  const [column, value] =
    "keyId" in name ? ["id", name.keyId] : "display" in name ? ["display", name.display] : ["key_hash", name.keyHash];
  const text = `select ${COLUMNS} from api_keys k where k.${column} = $1 order by k.created_at`;
  return queryAnswers(db, text, [value]);
}

/** Revokes a key; an already revoked key keeps its first time. @returns that time, or null if there is no such key. */
export async function revokeKey(db: Queryable, keyId: string): Promise<Date | null> {
  const rows = await db.query<{ revoked_at: Date }>(
    "update api_keys set revoked_at = coalesce(revoked_at, promptd_now()) where id = $1 returning revoked_at",
    [keyId],
  );
  return rows[0]?.revoked_at ?? null;
}

/** The last request with a key. */
export interface KeyUse {
  /** Milliseconds since 1970. */
  readonly ms: number;
  readonly address: string;
}

/**
 * Records the last use of all keys that were used since the last call, in one statement. Every process calls it, so a
 * key whose time another process has written within this minute is skipped. A revoked key gets no address, because the
 * deletion of its account removes the address.
 */
export async function recordKeyUse(db: Queryable, uses: ReadonlyMap<string, KeyUse>): Promise<void> {
  const last = [...uses.values()];
  await db.query(
    `update api_keys k set last_used_at = greatest(k.last_used_at, to_timestamp(used.ms / 1000.0)),
       last_used_from = case when k.revoked_at is null then used.address else k.last_used_from end
     from unnest($1::uuid[], $2::bigint[], $3::text[]) used (id, ms, address)
     where k.id = used.id
       and (k.last_used_at is null or k.last_used_at < to_timestamp(used.ms / 1000.0) - interval '59 s')`,
    [[...uses.keys()], last.map(({ ms }) => ms), last.map(({ address }) => address)],
  );
}

/** Whether a key with this hash exists and is valid. */
export async function hasValidKey(db: Database, keyHash: Buffer): Promise<boolean> {
  return (await db.query(`select 1 from api_keys where key_hash = $1 and ${IS_VALID}`, [keyHash])).length > 0;
}

/** Revokes every key of an account, at once and permanently, and removes what the keys show of people. */
export async function revokeAllKeys(tx: Tx, accountId: string, reason: string): Promise<void> {
  await tx.query(
    `update api_keys set name = 'deleted', last_used_from = null, revoked_at = coalesce(revoked_at, promptd_now()),
       revoked_reason = coalesce(revoked_reason, $2) where account_id = $1`,
    [accountId, reason],
  );
}
