import type { Scope } from "@promptd/contract";
import type {
  AskedLink,
  ListedSession,
  Page,
  PageQuery,
  Person,
  PersonChanges,
  PersonOfInstallation,
} from "@promptd/contract/manage";
import { queryAnswer, queryAnswers } from "../platform/database/answers.ts";
import type { Database, Queryable, Tx } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";

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
  const [row] = await db.pipelined<AdmittedRow>({ name: "admit_session", text }, [token, accountId, perSecond]);
  return row ?? null;
}

export async function admitToken(db: Database, hash: Buffer, perSecond: number): Promise<AdmittedRow | null> {
  const text = `select ${ADMITTED} from admit_token($1, $2)`;
  const [row] = await db.pipelined<AdmittedRow>({ name: "admit_token", text }, [hash, perSecond]);
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

export interface SignIn {
  readonly personId: string;
  readonly email: string;
  readonly hasPassword: boolean;
  readonly signedInAt: string;
}

/** The sign-in with which a session began; null: the session has ended. */
export function findSignIn(db: Queryable, token: string): Promise<SignIn | null> {
  return queryAnswer(
    db,
    `select u.id as "personId", u.email, s.created_at as "signedInAt", exists (
       select 1 from auth_logins l where l.user_id = u.id and l.provider_id = 'credential' and l.password is not null
     ) as "hasPassword"
     from auth_sessions s join auth_users u on u.id = s.user_id
     where s.token = $1 and s.expires_at > promptd_now()`,
    [token],
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

/** Makes links for a new password useless: somebody else may have them, in a mailbox that the person has left. */
export async function deleteResetLinks(db: Queryable, personId: string): Promise<void> {
  await db.query("delete from auth_verifications where value = $1", [personId]);
}

/** Sets a person's password, whatever it was before. Their sessions end, and so do links for a new password. */
export async function updatePassword(tx: Tx, personId: string, passwordHash: string): Promise<void> {
  await tx.query(
    `insert into auth_logins (id, user_id, provider_id, account_id, password)
     values (promptd_new_id(), $1::uuid, 'credential', $1::uuid::text, $2)
     on conflict (provider_id, account_id) do update set password = excluded.password, updated_at = promptd_now()`,
    [personId, passwordHash],
  );
  await deleteSessions(tx, personId);
  await deleteResetLinks(tx, personId);
}

/** Also unfreezes the person: an operator without access could not undo it. */
export async function makeOperator(db: Queryable, personId: string): Promise<void> {
  await db.query("update auth_users set is_operator = true, frozen_at = null where id = $1", [personId]);
}

/** What a frozen person reads. */
export const FROZEN = "An operator froze this person's access. Ask an operator to unfreeze it.";

export async function isFrozenPerson(db: Queryable, personId: string): Promise<boolean> {
  const rows = await db.query("select 1 from auth_users where id = $1 and frozen_at is not null", [personId]);
  return rows.length === 1;
}

export async function hasSecondFactor(db: Queryable, personId: string): Promise<boolean> {
  return (await db.query("select 1 from auth_users where id = $1 and two_factor_enabled", [personId])).length === 1;
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

/** Removes expired sessions, codes, and verifications; called by a tick. */
export async function pruneExpired(db: Queryable): Promise<void> {
  await db.query("delete from auth_sessions where expires_at < promptd_now()");
  await db.query("delete from auth_verifications where expires_at < promptd_now()");
  await db.query("delete from sign_in_codes where expires_at < promptd_now() - interval '1 day'");
  await db.query(
    "delete from auth_rate_limits where last_request < extract(epoch from promptd_now()) * 1000 - 3600000",
  );
}

const PERSON = `id as "personId", name, email, is_operator as "isOperator", frozen_at is not null as "isFrozen",
  link_asked_at as "linkAskedAt", created_at as "createdAt"`;

export function listPeople(
  db: Queryable,
  query: PageQuery & { readonly q?: string | undefined },
): Promise<Page<PersonOfInstallation>> {
  return readPage(db, query, {
    what: "person",
    columns: PERSON,
    from: "auth_users",
    where: "($1::text is null or position(lower($1) in email) > 0 or position(lower($1) in lower(name)) > 0)",
    values: [query.q ?? null],
  });
}

/** All operators, locked, so that the last one stays. */
export async function lockOperators(tx: Tx): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    "select id from auth_users where is_operator and frozen_at is null order by id for update",
  );
  return rows.map(({ id }) => id);
}

/** Null: no such person. */
export function updatePerson(
  tx: Tx,
  personId: string,
  { isOperator, isFrozen }: Pick<PersonChanges, "isOperator" | "isFrozen">,
): Promise<PersonOfInstallation | null> {
  return queryAnswer(
    tx,
    `update auth_users set is_operator = coalesce($2, is_operator), updated_at = promptd_now(),
       frozen_at = case when $3::boolean is null then frozen_at when $3 then coalesce(frozen_at, promptd_now()) end
     where id = $1 returning ${PERSON}`,
    [personId, isOperator ?? null, isFrozen ?? null],
  );
}
