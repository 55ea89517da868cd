import type { AccountOfInstallation, ListedAccount, Page, PageQuery } from "@promptd/contract/manage";
import { queryAnswer } from "../platform/database/answers.ts";
import type { Database, Queryable, Tx } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";

export interface Account {
  readonly accountId: string;
  readonly email: string;
  readonly username: string | null;
  readonly displayName: string | null;
  readonly userFlags: number;
  /** Infinity: the plan has no end; -Infinity: the account never had a plan. */
  readonly proUntil: Date | number;
  readonly isPro: boolean;
}

/** The address that an account has once it is deleted; nobody owns it. */
const NOBODY = "'deleted-' || id || '@promptd.invalid'";
const IS_NOT_DELETED = `email <> ${NOBODY}`;

const COLUMNS = `id as "accountId", email, username, display_name as "displayName", user_flags as "userFlags",
  pro_until as "proUntil", pro_until > promptd_now() as "isPro"`;

/** Also finds deleted accounts: their ids stay, for the journal and for what others have seen. */
export async function findAccount(db: Database, accountId: string): Promise<Account | null> {
  return (
    (
      await db.pipelined<Account>({ name: "account_get", text: `select ${COLUMNS} from accounts where id = $1` }, [
        accountId,
      ])
    )[0] ?? null
  );
}

/** Finds an account by email address or, if `who` is a UUID, by id. Ignores deleted accounts. */
export async function findAccountByName(db: Queryable, who: string): Promise<Account | null> {
  const rows = await db.query<Account>(
    `select ${COLUMNS} from accounts where (email = lower($1) or id::text = lower($1)) and ${IS_NOT_DELETED}`,
    [who],
  );
  return rows[0] ?? null;
}

export interface NewAccount extends Pick<Account, "accountId" | "email" | "username" | "displayName"> {
  /** ISO 8601, 'infinity' or '-infinity'. */
  readonly proUntil: string;
}

/** @returns false if the email address or the user name is taken. */
export async function insertAccount(db: Queryable, account: NewAccount): Promise<boolean> {
  const rows = await db.query(
    `insert into accounts (id, email, username, display_name, pro_until) values ($1, lower($2), $3, $4, $5)
     on conflict do nothing returning id`,
    [account.accountId, account.email, account.username, account.displayName, account.proUntil],
  );
  return rows.length > 0;
}

/** @returns false if the account is deleted. */
export async function updateAccountName(db: Queryable, accountId: string, name: string): Promise<boolean> {
  const text = `update accounts set display_name = $2 where id = $1 and ${IS_NOT_DELETED} returning 1`;
  return (await db.query(text, [accountId, name])).length > 0;
}

/** Sets the end of a plan, unless the account has been deleted meanwhile. */
export async function updatePlan(db: Queryable, accountId: string, proUntil: string): Promise<void> {
  await db.query(`update accounts set pro_until = $2 where id = $1 and ${IS_NOT_DELETED}`, [accountId, proUntil]);
}

/** Ends a current plan now. A past or missing plan (-infinity) stays as it is, because the two have different 402s. */
export async function endPlan(db: Queryable, accountId: string): Promise<void> {
  await db.query("update accounts set pro_until = least(pro_until, promptd_now()) where id = $1", [accountId]);
}

/** Sets bits of `userFlags` (USER_FLAGS in the contract); writes nothing if they are already set. */
export async function addUserFlags(db: Queryable, accountId: string, flags: number): Promise<void> {
  const text = "update accounts set user_flags = user_flags | $2 where id = $1 and user_flags & $2 <> $2";
  await db.query(text, [accountId, flags]);
}

const EMAILS_MAX = 10_000;

/** Lists addresses of about this length, newest first. */
export async function listEmails(db: Queryable, length: number, around: number): Promise<string[]> {
  const rows = await db.query<{ email: string }>(
    `select email from accounts where length(email) between $1 and $2 and ${IS_NOT_DELETED} order by id desc limit ${EMAILS_MAX}`,
    [length - around, length + around],
  );
  return rows.map(({ email }) => email);
}

const LISTED = `id as "accountId", email, coalesce(display_name, username) as name,
  case when pro_until > promptd_now() then 'pro' else 'none' end as plan,
  case when isfinite(pro_until) then pro_until end as "planUntil", created_at as "createdAt"`;

/** Lists accounts whose address or name contains `q`, newest first, without deleted accounts. */
export function listAccounts(
  db: Queryable,
  query: PageQuery & { readonly q?: string | undefined },
): Promise<Page<ListedAccount>> {
  return readPage(db, query, {
    what: "account",
    columns: `${LISTED}, credits_available(id) as available, credit_is_frozen(id) as "isFrozen"`,
    from: "accounts",
    where: `${IS_NOT_DELETED} and ($1::text is null or position(lower($1) in email) > 0 or id::text = lower($1)
      or position(lower($1) in lower(coalesce(display_name, username, ''))) > 0)`,
    values: [query.q ?? null],
  });
}

/** Finds an account as an operator sees it. Ignores deleted accounts. */
export function findListedAccount(db: Queryable, accountId: string): Promise<AccountOfInstallation | null> {
  return queryAnswer(db, `select ${LISTED} from accounts where id = $1 and ${IS_NOT_DELETED}`, [accountId]);
}

/** @returns false if another account has the address. */
export async function changeAccountEmail(tx: Tx, accountId: string, email: string): Promise<boolean> {
  const text = `update accounts set email = lower($2) where id = $1
    and not exists (select 1 from accounts other where other.email = lower($2) and other.id <> $1) returning 1`;
  return (await tx.query(text, [accountId, email])).length > 0;
}

/** Removes an account's names and plan. Its id stays, for the journal and for what others have seen. */
export async function pseudonymizeAccount(tx: Tx, accountId: string): Promise<void> {
  await tx.query(
    `update accounts set email = ${NOBODY}, username = null, display_name = null, user_flags = 0, pro_until = '-infinity'
     where id = $1`,
    [accountId],
  );
}
