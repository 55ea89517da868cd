import type {
  Invitation,
  InvitationTerms,
  Member,
  MemberRole,
  Page,
  PageQuery,
  PersonChanges,
  PersonInvitation,
  PersonOfInstallation,
} from "@promptd/contract/manage";
import { readPage } from "../platform/database/pages.ts";
import type { Queryable, Tx } from "../platform/database/database.ts";

interface MemberRow {
  id: string;
  name: string;
  email: string;
  role: MemberRole;
  is_personal: boolean;
  created_at: Date;
}

const MEMBERS = `select u.id, u.name, u.email, m.role, m.is_personal, m.created_at
  from account_members m join auth_users u on u.id = m.person_id where m.account_id = $1`;

export async function listMembers(db: Queryable, accountId: string): Promise<Member[]> {
  const rows = await db.query<MemberRow>(`${MEMBERS} order by m.created_at, u.id`, [accountId]);
  return rows.map(toMember);
}

/** The members of an account, locked: of two owners who remove each other one stays. */
export async function lockMembers(tx: Tx, accountId: string): Promise<Member[]> {
  const rows = await tx.query<MemberRow>(`${MEMBERS} order by m.person_id for update of m`, [accountId]);
  return rows.map(toMember);
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

export async function deleteMember(tx: Tx, { accountId, personId }: MemberOfAccount): Promise<void> {
  await tx.query("delete from account_members where account_id = $1 and person_id = $2", [accountId, personId]);
}

function toMember(row: MemberRow): Member {
  return {
    personId: row.id,
    name: row.name,
    email: row.email,
    role: row.role,
    isPersonal: row.is_personal,
    since: row.created_at.toISOString(),
  };
}

interface InvitationRow {
  id: string;
  email: string;
  account_id: string | null;
  role: MemberRole;
  created_at: Date;
  expires_at: Date;
  accepted_at: Date | null;
  revoked_at: Date | null;
  plan: InvitationTerms["plan"];
  credits: number | null;
}

const INVITATION = "id, email, account_id, role, created_at, expires_at, accepted_at, revoked_at, plan, credits";
const IS_OPEN = "accepted_at is null and revoked_at is null and expires_at > promptd_now()";

export interface InvitationToInsert extends InvitationTerms {
  readonly invitationId: string;
  readonly accountId: string | null;
  readonly email: string;
  readonly role: MemberRole;
  readonly codeHash: Buffer;
  readonly invitedBy: string;
  readonly days: number;
  /** True: the link goes out by mail, and to nobody else. */
  readonly isMailed: boolean;
}

/**
 * Locks the account's row, so that two callers cannot pass the bound together. What the address was sent before ends: who
 * has lost a link gets a new one in its place.
 * @returns null when the account has invited `max` in these days. Those to the installation have no bound.
 */
export async function insertInvitation(tx: Tx, given: InvitationToInsert, max: number): Promise<Invitation | null> {
  await tx.query("select 1 from accounts where id = $1 for no key update", [given.accountId]);
  const [row] = await tx.query<InvitationRow>(
    `insert into invitations (id, account_id, email, role, code_hash, invited_by, is_mailed, expires_at, plan, credits)
     select $1, $2::uuid, $3, $4, $5, $6, $8, promptd_now() + make_interval(days => $7), $10, $11
     where $2::uuid is null or (select count(*) from invitations
       where account_id = $2 and created_at > promptd_now() - make_interval(days => $7)) < $9
     returning ${INVITATION}`,
    [
      given.invitationId,
      given.accountId,
      given.email,
      given.role,
      given.codeHash,
      given.invitedBy,
      given.days,
      given.isMailed,
      max,
      given.plan,
      given.credits,
    ],
  );
  if (row === undefined) return null;
  await tx.query(
    `update invitations set revoked_at = promptd_now()
     where account_id is not distinct from $1 and email = $2 and id <> $3 and accepted_at is null and revoked_at is null`,
    [given.accountId, given.email, given.invitationId],
  );
  return toInvitation(row);
}

export function listInvitations(db: Queryable, accountId: string, query: PageQuery): Promise<Page<Invitation>> {
  return readPage(db, query, {
    what: "invitation",
    columns: INVITATION,
    from: "invitations",
    where: "account_id = $1",
    values: [accountId],
    toItem: toInvitation,
  });
}

/** Those to the installation that nobody has accepted or revoked, and whose people have not come in another way since. */
export function listPersonInvitations(
  db: Queryable,
  query: PageQuery & { readonly q?: string | undefined },
): Promise<Page<PersonInvitation>> {
  return readPage(db, query, {
    what: "invitation",
    columns: `${INVITATION}, exists (select 1 from auth_users u where u.email = invitations.email) as has_person`,
    from: "invitations",
    where: `account_id is null and accepted_at is null and revoked_at is null
      and ($1::text is null or position(lower($1) in email) > 0)
      and not exists (select 1 from auth_users u
        where u.email = invitations.email and u.created_at > invitations.created_at)`,
    values: [query.q ?? null],
    toItem: (row: InvitationRow & { has_person: boolean }) => ({ ...toInvitation(row), hasPerson: row.has_person }),
  });
}

/**
 * @param accountId null: of the installation.
 * @returns null: there is no such invitation, or it was accepted.
 */
export async function revokeInvitation(
  db: Queryable,
  accountId: string | null,
  id: string,
): Promise<Invitation | null> {
  const [row] = await db.query<InvitationRow>(
    `update invitations set revoked_at = coalesce(revoked_at, promptd_now())
     where id = $2 and account_id is not distinct from $1 and accepted_at is null returning ${INVITATION}`,
    [accountId, id],
  );
  return row === undefined ? null : toInvitation(row);
}

export interface OpenInvitation extends Invitation {
  /** True: nobody but who reads the mail of the address has its link. */
  readonly isMailed: boolean;
  readonly invitedBy: string;
}

/** Null: there is no such code, or it is of no use any more. */
export async function findOpenInvitation(db: Queryable, codeHash: Buffer): Promise<OpenInvitation | null> {
  const text = `select ${INVITATION}, is_mailed, invited_by from invitations where code_hash = $1 and ${IS_OPEN}`;
  const [row] = await db.query<InvitationRow & { is_mailed: boolean; invited_by: string }>(text, [codeHash]);
  return row === undefined ? null : { ...toInvitation(row), isMailed: row.is_mailed, invitedBy: row.invited_by };
}

/** Of two who accept at once one does. Null: somebody was first. */
export async function useInvitation(db: Queryable, codeHash: Buffer, personId: string): Promise<Invitation | null> {
  const [row] = await db.query<InvitationRow>(
    `update invitations set accepted_at = promptd_now(), accepted_by = $2 where code_hash = $1 and ${IS_OPEN}
     returning ${INVITATION}`,
    [codeHash, personId],
  );
  return row === undefined ? null : toInvitation(row);
}

function toInvitation(row: InvitationRow): Invitation {
  return {
    invitationId: row.id,
    email: row.email,
    accountId: row.account_id,
    role: row.role,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
    acceptedAt: row.accepted_at?.toISOString() ?? null,
    revokedAt: row.revoked_at?.toISOString() ?? null,
    plan: row.plan,
    credits: row.credits,
  };
}

interface PersonRow {
  id: string;
  name: string;
  email: string;
  is_operator: boolean;
  is_frozen: boolean;
  link_asked_at: Date | null;
  created_at: Date;
}

const PERSON = "id, name, email, is_operator, frozen_at is not null as is_frozen, link_asked_at, created_at";

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
    toItem: toPerson,
  });
}

/** Every operator, locked, so that the last one stays. */
export async function lockOperators(tx: Tx): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    "select id from auth_users where is_operator and frozen_at is null order by id for update",
  );
  return rows.map(({ id }) => id);
}

/** Null: there is no such person. */
export async function updatePerson(
  tx: Tx,
  personId: string,
  { isOperator, isFrozen }: Pick<PersonChanges, "isOperator" | "isFrozen">,
): Promise<PersonOfInstallation | null> {
  const [row] = await tx.query<PersonRow>(
    `update auth_users set is_operator = coalesce($2, is_operator), updated_at = promptd_now(),
       frozen_at = case when $3::boolean is null then frozen_at when $3 then coalesce(frozen_at, promptd_now()) end
     where id = $1 returning ${PERSON}`,
    [personId, isOperator ?? null, isFrozen ?? null],
  );
  return row === undefined ? null : toPerson(row);
}

function toPerson(row: PersonRow): PersonOfInstallation {
  return {
    personId: row.id,
    name: row.name,
    email: row.email,
    isOperator: row.is_operator,
    isFrozen: row.is_frozen,
    linkAskedAt: row.link_asked_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
  };
}
