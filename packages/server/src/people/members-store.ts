import type { AccountOfPerson, Member, MemberRole } from "@promptd/contract/manage";
import { queryAnswers } from "../platform/database/answers.ts";
import type { Queryable, Tx } from "../platform/database/database.ts";

const MEMBERS = `select u.id as "personId", u.name, u.email, m.role, m.is_personal as "isPersonal", m.created_at as since
  from account_members m join auth_users u on u.id = m.person_id where m.account_id = $1`;

export function listMembers(db: Queryable, accountId: string): Promise<Member[]> {
  return queryAnswers(db, `${MEMBERS} order by m.created_at, u.id`, [accountId]);
}

/** The members of an account, locked: if two owners remove each other, one of them stays. */
export function lockMembers(tx: Tx, accountId: string): Promise<Member[]> {
  return queryAnswers(tx, `${MEMBERS} order by m.person_id for update of m`, [accountId]);
}

export interface MemberOfAccount {
  readonly accountId: string;
  readonly personId: string;
}

export async function updateRole(tx: Tx, { accountId, personId }: MemberOfAccount, role: MemberRole): Promise<void> {
  await tx.query("update account_members set role = $3 where account_id = $1 and person_id = $2", [
    accountId,
    personId,
    role,
  ]);
}

/** Also revokes the member's tokens for the account: they must not work again if the person returns. */
export async function deleteMember(tx: Tx, { accountId, personId }: MemberOfAccount): Promise<void> {
  await tx.query("delete from account_members where account_id = $1 and person_id = $2", [accountId, personId]);
  await tx.query(
    `update management_tokens set revoked_at = promptd_now()
     where account_id = $1 and person_id = $2 and revoked_at is null`,
    [accountId, personId],
  );
}

/** The personal account first, then the others in the order in which the person joined them. */
export function listAccountsOfPerson(db: Queryable, personId: string): Promise<AccountOfPerson[]> {
  return db.query<AccountOfPerson>(
    `select a.id as "accountId", coalesce(a.display_name, a.username, a.email) as name, a.email, m.role,
       m.is_personal as "isPersonal", a.pro_until > promptd_now() as "hasPlan"
     from account_members m join accounts a on a.id = m.account_id
     where m.person_id = $1 order by m.is_personal desc, m.created_at, a.id`,
    [personId],
  );
}

/** A person's role in an account. Null: none, because they are not a member or are frozen. */
export async function findRole(db: Queryable, personId: string, accountId: string): Promise<MemberRole | null> {
  const [row] = await db.query<{ role: MemberRole }>(
    `select m.role from account_members m join auth_users u on u.id = m.person_id
     where m.person_id = $1 and m.account_id = $2 and u.frozen_at is null`,
    [personId, accountId],
  );
  return row?.role ?? null;
}

/** Adds a member. An existing member becomes an owner if that role is given, and otherwise keeps their role. */
export async function insertMember(
  db: Queryable,
  member: {
    readonly accountId: string;
    readonly personId: string;
    readonly role: "member" | "owner";
    readonly isPersonal: boolean;
  },
): Promise<void> {
  await db.query(
    `insert into account_members (account_id, person_id, role, is_personal) values ($1, $2, $3, $4)
     on conflict (account_id, person_id) do update set role = excluded.role where excluded.role = 'owner'`,
    [member.accountId, member.personId, member.role, member.isPersonal],
  );
}

/** An owner of the account, preferably the person whose personal account it is; null: it has no owner. */
export async function findPersonOfAccount(db: Queryable, accountId: string): Promise<string | null> {
  const [row] = await db.query<{ person_id: string }>(
    `select person_id from account_members where account_id = $1 and role = 'owner'
     order by is_personal desc, created_at limit 1`,
    [accountId],
  );
  return row?.person_id ?? null;
}

/** A person's personal account; null: there is none. */
export async function findPersonalAccount(db: Queryable, personId: string): Promise<string | null> {
  const text = "select account_id from account_members where person_id = $1 and is_personal";
  return (await db.query<{ account_id: string }>(text, [personId]))[0]?.account_id ?? null;
}

export async function listOwnerEmails(db: Queryable, accountId: string): Promise<string[]> {
  const rows = await db.query<{ email: string }>(
    `select u.email from account_members m join auth_users u on u.id = m.person_id
     where m.account_id = $1 and m.role = 'owner' order by u.email`,
    [accountId],
  );
  return rows.map(({ email }) => email);
}
