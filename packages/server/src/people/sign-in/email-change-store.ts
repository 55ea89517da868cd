import { queryAnswer } from "../../platform/database/answers.ts";
import type { Queryable, Tx } from "../../platform/database/database.ts";
import { deleteResetLinks } from "../people-store.ts";

/**
 * Null: there is no such person, or they are frozen.
 * @returns `passwordMark`: a mark that changes with the password; null: the person has no password.
 */
export function findPersonWithAddress(
  db: Queryable,
  personId: string,
): Promise<{ readonly email: string; readonly passwordMark: string | null } | null> {
  return queryAnswer(
    db,
    `select u.email, encode(sha256(convert_to(l.password, 'UTF8')), 'hex') as "passwordMark"
     from auth_users u left join auth_logins l on l.user_id = u.id and l.provider_id = 'credential'
     where u.id = $1 and u.frozen_at is null`,
    [personId],
  );
}

/** True: another person has the address, or an account that is not this person's own. */
export async function isAddressTaken(db: Queryable, email: string, personId: string): Promise<boolean> {
  const [row] = await db.query<{ taken: boolean }>(
    `select exists (select 1 from auth_users where email = $1)
       or exists (select 1 from accounts a where a.email = $1 and not exists (
         select 1 from account_members m where m.account_id = a.id and m.person_id = $2 and m.is_personal)) as taken`,
    [email, personId],
  );
  return row?.taken === true;
}

/**
 * Changes the address that a person signs in with. Links sent to the previous address stop working. `isVerified`: the
 * person has shown that they read its mail. False: somebody else has the address.
 */
export async function changePersonEmail(
  tx: Tx,
  personId: string,
  { email, isVerified }: { readonly email: string; readonly isVerified: boolean },
): Promise<boolean> {
  const text = `update auth_users set email = lower($2), email_verified = $3, updated_at = promptd_now() where id = $1
    and not exists (select 1 from auth_users other where other.email = lower($2) and other.id <> $1) returning 1`;
  if ((await tx.query(text, [personId, email, isVerified])).length === 0) return false;
  await deleteResetLinks(tx, personId);
  return true;
}

/**
 * Records that the person reads the address's mail, because they set a password through a link sent to it. If nobody
 * had shown that before, this removes all other ways to sign in: they may be a stranger's who used the address first.
 */
export async function confirmAddress(tx: Tx, personId: string): Promise<void> {
  const text = `update auth_users set email_verified = true, updated_at = promptd_now()
    where id = $1 and not email_verified returning 1`;
  if ((await tx.query(text, [personId])).length === 0) return;
  await tx.query("delete from auth_logins where user_id = $1 and provider_id <> 'credential'", [personId]);
  await tx.query("delete from auth_passkeys where user_id = $1", [personId]);
}
