import type { AccountOfPerson, AskedLink, ListedSession, MemberRole, Person } from "@promptd/contract/manage";
import type { Scope } from "@promptd/contract";
import { queryAnswer, queryAnswers } from "../platform/database/answers.ts";
import type { Database, Queryable, Tx } from "../platform/database/database.ts";

/** What a session or a token admits to; see sql/admit-people.sql. */
export interface AdmittedRow {
  readonly person_id: string;
  readonly is_operator: boolean;
  readonly is_frozen: boolean;
  readonly token_id: string | null;
  readonly scopes: Scope[] | null;
  readonly revoked_at: Date | null;
  readonly is_expired: boolean;
  readonly account_id: string | null;
  readonly role: "member" | "owner" | null;
  readonly pro_until: Date | number;
  readonly pro: boolean;
  readonly admitted: boolean;
  readonly used: number;
  readonly wait_us: number;
}

const ADMITTED =
  "person_id, is_operator, is_frozen, token_id, scopes, revoked_at, is_expired, account_id, role, pro_until, pro, admitted, used, wait_us";

export async function admitSession(
  db: Database,
  token: string,
  { accountId, perSecond }: { readonly accountId: string | null; readonly perSecond: number },
): Promise<AdmittedRow | null> {
  const text = `select ${ADMITTED} from admit_session($1, $2, $3)`;
  const [row] = await db.named<AdmittedRow>("admit_session", text, [token, accountId, perSecond]);
  return row ?? null;
}

export async function admitToken(db: Database, hash: Buffer, perSecond: number): Promise<AdmittedRow | null> {
  const text = `select ${ADMITTED} from admit_token($1, $2)`;
  const [row] = await db.named<AdmittedRow>("admit_token", text, [hash, perSecond]);
  return row ?? null;
}

export function findPerson(db: Queryable, personId: string): Promise<Person | null> {
  const text = `select id as "personId", name, email, is_operator as "isOperator" from auth_users where id = $1`;
  return queryAnswer(db, text, [personId]);
}

export async function findPersonByEmail(db: Queryable, email: string): Promise<string | null> {
  const [row] = await db.query<{ id: string }>("select id from auth_users where email = lower($1)", [email]);
  return row?.id ?? null;
}

/** The person of a session, by the token in its cookie; null: the session has ended. */
export async function findPersonOfSession(db: Queryable, token: string): Promise<string | null> {
  const [row] = await db.query<{ user_id: string }>(
    "select user_id from auth_sessions where token = $1 and expires_at > promptd_now()",
    [token],
  );
  return row?.user_id ?? null;
}

/**
 * Active sessions, last used first. `token`: the token of the requesting session; null: the request has no session
 * cookie of ours.
 */
export function listSessions(db: Queryable, personId: string, token: string | null): Promise<ListedSession[]> {
  return queryAnswers(
    db,
    `select id as "sessionId", coalesce(token = $2, false) as "isThis", nullif(ip_address, '') as address,
       nullif(user_agent, '') as "userAgent", created_at as "createdAt", updated_at as "lastUsedAt"
     from auth_sessions where user_id = $1 and expires_at > promptd_now() order by updated_at desc, id limit ${SESSIONS_MAX}`,
    [personId, token],
  );
}

const SESSIONS_MAX = 200;

/** False: the person has no such session. */
export async function deleteSession(db: Queryable, personId: string, sessionId: string): Promise<boolean> {
  const rows = await db.query("delete from auth_sessions where user_id = $1 and id = $2 returning 1", [
    personId,
    sessionId,
  ]);
  return rows.length === 1;
}

/** @returns how many sessions the person had. */
export async function deleteSessions(db: Queryable, personId: string): Promise<number> {
  return (await db.query("delete from auth_sessions where user_id = $1 returning 1", [personId])).length;
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

export interface LockedPerson extends Pick<Person, "personId" | "email" | "name"> {
  readonly isVerified: boolean;
}

/** Locks a person, so that decisions about their accounts are made one at a time. */
export function lockPerson(tx: Tx, personId: string): Promise<LockedPerson | null> {
  const text = `select id as "personId", email, name, email_verified as "isVerified" from auth_users where id = $1 for update`;
  return queryAnswer(tx, text, [personId]);
}

export interface PersonToInsert {
  readonly personId: string;
  readonly email: string;
  readonly name: string;
  /** True: the address is certainly theirs. */
  readonly isVerified: boolean;
}

/** False: somebody has the address. */
export async function insertPerson(tx: Tx, person: PersonToInsert): Promise<boolean> {
  const rows = await tx.query(
    `insert into auth_users (id, email, name, email_verified) values ($1, lower($2), $3, $4)
     on conflict (email) do nothing returning 1`,
    [person.personId, person.email, person.name, person.isVerified],
  );
  return rows.length === 1;
}

/** Sets a person's password, whatever it was before. Their sessions end. */
export async function updatePassword(tx: Tx, personId: string, passwordHash: string): Promise<void> {
  await tx.query(
    `insert into auth_logins (id, user_id, provider_id, account_id, password)
     values (promptd_new_id(), $1::uuid, 'credential', $1::uuid::text, $2)
     on conflict (provider_id, account_id) do update set password = excluded.password, updated_at = promptd_now()`,
    [personId, passwordHash],
  );
  await deleteSessions(tx, personId);
}

/** Also unfreezes the person: an operator without access could not undo it. */
export async function makeOperator(db: Queryable, personId: string): Promise<void> {
  await db.query("update auth_users set is_operator = true, frozen_at = null where id = $1", [personId]);
}

export async function isFrozenPerson(db: Queryable, personId: string): Promise<boolean> {
  const rows = await db.query("select 1 from auth_users where id = $1 and frozen_at is not null", [personId]);
  return rows.length === 1;
}

/** Records that a person asked operators for a link to set a new password. */
export async function recordLinkRequest(db: Queryable, email: string): Promise<void> {
  await db.query("update auth_users set link_asked_at = promptd_now() where email = $1", [email]);
}

/** Ends the person's request for a link: they have a link, or are signed in. */
export async function clearLinkRequest(db: Queryable, personId: string): Promise<void> {
  await db.query("update auth_users set link_asked_at = null where id = $1 and link_asked_at is not null", [personId]);
}

const ASKED_SPAN = "7 days";
const PEOPLE_MAX = 20;

/** People waiting for a link, the longest wait first. */
export function listLinkRequests(db: Queryable): Promise<AskedLink[]> {
  return queryAnswers(
    db,
    `select id as "personId", email, link_asked_at as "askedAt" from auth_users
     where link_asked_at > promptd_now() - interval '${ASKED_SPAN}' order by link_asked_at, id limit ${PEOPLE_MAX}`,
  );
}

export async function hasOperator(db: Queryable): Promise<boolean> {
  const rows = await db.query("select 1 from auth_users where is_operator limit 1");
  return rows.length > 0;
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

/** Operators who cannot sign in again once their session ends. */
export function listOperatorsWithoutSignIn(db: Queryable): Promise<{ personId: string; email: string }[]> {
  return db.query(
    `select u.id as "personId", u.email from auth_users u
     where u.is_operator and u.frozen_at is null
       and not exists (select 1 from auth_logins l where l.user_id = u.id)
       and not exists (select 1 from auth_passkeys k where k.user_id = u.id)
     order by u.id limit ${PEOPLE_MAX}`,
  );
}

export interface SignInCode {
  readonly personId: string | null;
  readonly accountId: string | null;
  readonly makesOperator: boolean;
  readonly signsIn: boolean;
}

export async function insertCode(db: Queryable, hash: Buffer, code: SignInCode & { seconds: number }): Promise<void> {
  await db.query(
    `insert into sign_in_codes (code_hash, person_id, account_id, makes_operator, signs_in, expires_at)
     values ($1, $2, $3, $4, $5, promptd_now() + make_interval(secs => $6))`,
    [hash, code.personId, code.accountId, code.makesOperator, code.signsIn, code.seconds],
  );
}

const CODE = `person_id as "personId", account_id as "accountId", makes_operator as "makesOperator", signs_in as "signsIn"`;

/** Null: there is no such code, it was used, or it has expired. */
export function findCode(db: Queryable, hash: Buffer): Promise<SignInCode | null> {
  const text = `select ${CODE} from sign_in_codes where code_hash = $1 and used_at is null and expires_at > promptd_now()`;
  return queryAnswer(db, text, [hash]);
}

/** If two requests use a code at once, only one gets it. */
export function useCode(db: Queryable, hash: Buffer): Promise<SignInCode | null> {
  return queryAnswer(
    db,
    `update sign_in_codes set used_at = promptd_now()
     where code_hash = $1 and used_at is null and expires_at > promptd_now() returning ${CODE}`,
    [hash],
  );
}

/** Removes expired sessions, codes, and verifications; called by a tick. */
export async function pruneExpired(db: Queryable): Promise<void> {
  await db.query("delete from auth_sessions where expires_at < promptd_now()");
  await db.query("delete from auth_verifications where expires_at < promptd_now()");
  await db.query("delete from sign_in_codes where expires_at < promptd_now() - interval '1 day'");
  await db.query(
    "delete from auth_rate_limits where last_request < extract(epoch from promptd_now()) * 1000 - 3600000",
  );
}
