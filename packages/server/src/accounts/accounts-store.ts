import type { AccountOfInstallation, ListedAccount, Page, PageQuery } from "@promptd/contract/manage";
import type { Database, Queryable, Tx } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";

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

/** An address that nobody has: what a deleted account is called from then on. */
const NOBODY = "'deleted-' || id || '@promptd.invalid'";
const IS_NOT_DELETED = `email <> ${NOBODY}`;

const COLUMNS = "id, email, username, display_name, user_flags, pro_until, pro_until > promptd_now() as pro";

/** A deleted one too: its id stays, for the journal and for what others have seen. */
export async function findAccount(db: Database, accountId: string): Promise<Account | null> {
  const rows = await db.named<AccountRow>("account_get", `select ${COLUMNS} from accounts where id = $1`, [accountId]);
  return rows[0] === undefined ? null : toAccount(rows[0]);
}

/** By email address or, when `who` is a UUID, by id. A deleted account is none. */
export async function findAccountByName(db: Queryable, who: string): Promise<Account | null> {
  const rows = await db.query<AccountRow>(
    `select ${COLUMNS} from accounts where (email = lower($1) or id::text = lower($1)) and ${IS_NOT_DELETED}`,
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

/** @returns false when the email address or the user name is taken. */
export async function insertAccount(db: Queryable, account: NewAccount): Promise<boolean> {
  const rows = await db.query(
    `insert into accounts (id, email, username, display_name, pro_until) values ($1, lower($2), $3, $4, $5)
     on conflict do nothing returning id`,
    [account.accountId, account.email, account.username, account.displayName, account.proUntil],
  );
  return rows.length > 0;
}

/** False: the account is deleted. */
export async function updateAccountName(db: Queryable, accountId: string, name: string): Promise<boolean> {
  const text = `update accounts set display_name = $2 where id = $1 and ${IS_NOT_DELETED} returning 1`;
  return (await db.query(text, [accountId, name])).length > 0;
}

/** An account that is deleted meanwhile gets none. */
export async function updatePlan(db: Queryable, accountId: string, proUntil: string): Promise<void> {
  await db.query(`update accounts set pro_until = $2 where id = $1 and ${IS_NOT_DELETED}`, [accountId, proUntil]);
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

const EMAILS_MAX = 10_000;

/** Addresses of about a length, the newest first. */
export async function listEmails(db: Queryable, length: number, around: number): Promise<string[]> {
  const rows = await db.query<{ email: string }>(
    `select email from accounts where length(email) between $1 and $2 and ${IS_NOT_DELETED} order by id desc limit ${EMAILS_MAX}`,
    [length - around, length + around],
  );
  return rows.map(({ email }) => email);
}

interface ListedRow {
  id: string;
  email: string;
  name: string | null;
  pro_until: Date | number;
  pro: boolean;
  created_at: Date;
}

const LISTED =
  "id, email, coalesce(display_name, username) as name, pro_until, pro_until > promptd_now() as pro, created_at";

/** Accounts whose address or name has `q` in it, newest first; no deleted ones. */
export function listAccounts(
  db: Queryable,
  query: PageQuery & { readonly q?: string | undefined },
): Promise<Page<ListedAccount>> {
  return readPage(db, query, {
    what: "account",
    columns: `${LISTED}, credits_available(id) as available`,
    from: "accounts",
    where: `${IS_NOT_DELETED} and ($1::text is null or position(lower($1) in email) > 0 or id::text = lower($1)
      or position(lower($1) in lower(coalesce(display_name, username, ''))) > 0)`,
    values: [query.q ?? null],
    toItem: (row: ListedRow & { available: number }) => ({ ...toListed(row), available: row.available }),
  });
}

/** As an operator sees it. A deleted account is none. */
export async function findListedAccount(db: Queryable, accountId: string): Promise<AccountOfInstallation | null> {
  const text = `select ${LISTED} from accounts where id = $1 and ${IS_NOT_DELETED}`;
  const [row] = await db.query<ListedRow>(text, [accountId]);
  return row === undefined ? null : toListed(row);
}

function toListed(row: ListedRow): AccountOfInstallation {
  const untilMs = Number(row.pro_until);
  return {
    accountId: row.id,
    email: row.email,
    name: row.name,
    plan: row.pro ? "pro" : "none",
    planUntil: Number.isFinite(untilMs) ? new Date(untilMs).toISOString() : null,
    createdAt: row.created_at.toISOString(),
  };
}

/** False: another account has the address. */
export async function changeAccountEmail(tx: Tx, accountId: string, email: string): Promise<boolean> {
  const text = `update accounts set email = lower($2) where id = $1
    and not exists (select 1 from accounts other where other.email = lower($2) and other.id <> $1) returning 1`;
  return (await tx.query(text, [accountId, email])).length > 0;
}

/** Takes every name from an account, and its plan. Its id stays, for the journal and for what others have seen. */
export async function pseudonymizeAccount(tx: Tx, accountId: string): Promise<void> {
  await tx.query(
    `update accounts set email = ${NOBODY}, username = null, display_name = null, user_flags = 0, pro_until = '-infinity'
     where id = $1`,
    [accountId],
  );
}
