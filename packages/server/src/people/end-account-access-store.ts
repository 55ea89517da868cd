/** SQL for accounts and people that leave. */
import type { Person, PersonOfInstallation } from "@promptd/contract/manage";
import { queryAnswer } from "../platform/database/answers.ts";
import type { Queryable, Tx } from "../platform/database/database.ts";

/** The person whose personal account this is, locked; null: it is not a personal account. */
export function lockPersonOf(tx: Tx, accountId: string): Promise<Pick<Person, "personId" | "email"> | null> {
  const text = `select u.id as "personId", u.email from account_members m join auth_users u on u.id = m.person_id
     where m.account_id = $1 and m.is_personal for update of u`;
  return queryAnswer(tx, text, [accountId]);
}

/**
 * Names of the accounts that would have no owner without this person. Locks their owners, so that none of them leaves
 * meanwhile.
 */
export async function listOrphans(
  tx: Tx,
  { personId, accountId }: { personId: string; accountId: string },
): Promise<string[]> {
  const owned = "select account_id from account_members where person_id = $1 and role = 'owner' and account_id <> $2";
  await tx.query(
    `select 1 from account_members where role = 'owner' and account_id in (${owned}) order by account_id, person_id for update`,
    [personId, accountId],
  );
  const rows = await tx.query<{ name: string }>(
    `select coalesce(a.display_name, a.username, a.email) as name
     from account_members m join accounts a on a.id = m.account_id
     where m.person_id = $1 and m.account_id in (${owned}) and not exists (
       select 1 from account_members o where o.account_id = m.account_id and o.role = 'owner' and o.person_id <> $1)
     order by 1`,
    [personId, accountId],
  );
  return rows.map(({ name }) => name);
}

/** From the commit on, nobody acts in the account: not by membership, token, invitation, or one-time link. */
export async function removeAccess(tx: Tx, accountId: string): Promise<void> {
  await tx.query("delete from management_tokens where account_id = $1", [accountId]);
  await tx.query("delete from invitations where account_id = $1", [accountId]);
  await tx.query("delete from sign_in_codes where account_id = $1", [accountId]);
  await tx.query("delete from account_members where account_id = $1", [accountId]);
}

/**
 * Removes the person, with sessions, ways to sign in, passkeys, and tokens, and any mails and invitations to their
 * address.
 */
export async function removePerson(tx: Tx, { personId, email }: Pick<Person, "personId" | "email">): Promise<void> {
  await tx.query("delete from auth_users where id = $1", [personId]);
  await tx.query("delete from invitations where email = $1", [email]);
  await tx.query("delete from mails where recipient = $1", [email]);
}

/** True: the address gets its benefits for the first time. */
export async function noteBenefits(db: Queryable, addressHash: Buffer): Promise<boolean> {
  const rows = await db.query(
    "insert into sign_up_benefits (address_hash) values ($1) on conflict do nothing returning 1",
    [addressHash],
  );
  return rows.length === 1;
}

/** Tokens of an account with their owners, without their secrets. */
export function listTokensOfAccount(db: Queryable, accountId: string): Promise<Record<string, unknown>[]> {
  return db.query(
    `select id as "tokenId", person_id as "personId", name, display, scopes, created_at as "createdAt",
       expires_at as "expiresAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt"
     from management_tokens where account_id = $1 order by id`,
    [accountId],
  );
}

export function listInvitationsOfAccount(db: Queryable, accountId: string): Promise<Record<string, unknown>[]> {
  return db.query(
    `select id as "invitationId", email, role, created_at as "createdAt", expires_at as "expiresAt",
       accepted_at as "acceptedAt", revoked_at as "revokedAt" from invitations where account_id = $1 order by id`,
    [accountId],
  );
}

export interface PersonReport extends Omit<PersonOfInstallation, "linkAskedAt" | "createdAt"> {
  readonly isVerified: boolean;
  /** Ways to sign in, such as `credential` (a password), `github`, or `passkey`. */
  readonly signsInBy: readonly string[];
  readonly hasSecondFactor: boolean;
  readonly sessions: number;
  readonly accounts: readonly { readonly accountId: string; readonly email: string; readonly role: string }[];
}

/** Everything an operator should see about a person; null: no such person. */
export function describePerson(db: Queryable, personId: string | null): Promise<PersonReport | null> {
  return queryAnswer(
    db,
    `select u.id as "personId", u.email, u.name, u.is_operator as "isOperator", u.email_verified as "isVerified",
       u.frozen_at is not null as "isFrozen", u.two_factor_enabled as "hasSecondFactor",
       (select coalesce(json_agg(way order by way), '[]') from (
          select l.provider_id as way from auth_logins l where l.user_id = u.id
          union select 'passkey' from auth_passkeys k where k.user_id = u.id) ways) as "signsInBy",
       (select count(*)::int from auth_sessions s where s.user_id = u.id and s.expires_at > promptd_now()) as sessions,
       (select coalesce(json_agg(json_build_object('accountId', a.id, 'email', a.email, 'role', m.role) order by m.created_at), '[]')
          from account_members m join accounts a on a.id = m.account_id where m.person_id = u.id) as accounts
     from auth_users u where u.id = $1`,
    [personId],
  );
}
