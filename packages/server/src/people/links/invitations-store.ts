import type { Invitation, Page, PageQuery, PersonInvitation } from "@promptd/contract/manage";
import { queryAnswer } from "../../platform/database/answers.ts";
import type { Queryable, Tx } from "../../platform/database/database.ts";
import { readPage } from "../../platform/database/pages.ts";

const INVITATION = `id as "invitationId", email, account_id as "accountId", role, created_at as "createdAt",
  expires_at as "expiresAt", accepted_at as "acceptedAt", revoked_at as "revokedAt", plan, credits`;
const IS_OPEN = "accepted_at is null and revoked_at is null and expires_at > promptd_now()";

export interface InvitationToInsert extends Omit<OpenInvitation, `${string}At`> {
  readonly codeHash: Buffer;
  readonly days: number;
}

/**
 * Locks the account's row, so that two callers cannot exceed the limit together. Earlier invitations to the same
 * address end: a person who lost a link gets a new one instead.
 * @returns null if the account has already sent `max` invitations in these days. Invitations to the installation have
 * no limit.
 */
export async function insertInvitation(tx: Tx, given: InvitationToInsert, max: number): Promise<Invitation | null> {
  await tx.query("select 1 from accounts where id = $1 for no key update", [given.accountId]);
  const invitation = await queryAnswer<Invitation>(
    tx,
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
  if (invitation === null) return null;
  await tx.query(
    `update invitations set revoked_at = promptd_now()
     where account_id is not distinct from $1 and email = $2 and id <> $3 and accepted_at is null and revoked_at is null`,
    [given.accountId, given.email, given.invitationId],
  );
  return invitation;
}

export function listInvitations(db: Queryable, accountId: string, query: PageQuery): Promise<Page<Invitation>> {
  return readPage(db, query, {
    what: "invitation",
    columns: INVITATION,
    from: "invitations",
    where: "account_id = $1",
    values: [accountId],
  });
}

/**
 * Invitations to the installation that nobody has accepted or revoked, and whose people have not joined in another way
 * since.
 */
export function listPersonInvitations(
  db: Queryable,
  query: PageQuery & { readonly q?: string | undefined },
): Promise<Page<PersonInvitation>> {
  return readPage(db, query, {
    what: "invitation",
    columns: `${INVITATION}, exists (select 1 from auth_users u where u.email = invitations.email) as "hasPerson"`,
    from: "invitations",
    where: `account_id is null and accepted_at is null and revoked_at is null
      and ($1::text is null or position(lower($1) in email) > 0)
      and not exists (select 1 from auth_users u
        where u.email = invitations.email and u.created_at > invitations.created_at)`,
    values: [query.q ?? null],
  });
}

/**
 * @param accountId null: an invitation to the installation.
 * @returns null: there is no such invitation, or it was accepted.
 */
export function revokeInvitation(db: Queryable, accountId: string | null, id: string): Promise<Invitation | null> {
  return queryAnswer(
    db,
    `update invitations set revoked_at = coalesce(revoked_at, promptd_now())
     where id = $2 and account_id is not distinct from $1 and accepted_at is null returning ${INVITATION}`,
    [accountId, id],
  );
}

export interface OpenInvitation extends Invitation {
  /** True: only people who read the address's mail have the link. */
  readonly isMailed: boolean;
  readonly invitedBy: string;
}

/** Null: there is no such code, or it is no longer valid. */
export function findOpenInvitation(db: Queryable, codeHash: Buffer): Promise<OpenInvitation | null> {
  const text = `select ${INVITATION}, is_mailed as "isMailed", invited_by as "invitedBy" from invitations
    where code_hash = $1 and ${IS_OPEN}`;
  return queryAnswer(db, text, [codeHash]);
}

/** True: an invitation to this address is open. */
export async function hasInvitation(db: Queryable, email: string): Promise<boolean> {
  return (
    (await db.query(`select 1 from invitations where email = lower($1) and ${IS_OPEN} limit 1`, [email])).length > 0
  );
}

/** If two people accept at once, only one succeeds. Null: somebody else was first. */
export function useInvitation(db: Queryable, codeHash: Buffer, personId: string): Promise<Invitation | null> {
  return queryAnswer(
    db,
    `update invitations set accepted_at = promptd_now(), accepted_by = $2 where code_hash = $1 and ${IS_OPEN}
     returning ${INVITATION}`,
    [codeHash, personId],
  );
}
