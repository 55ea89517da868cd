import type { Passkey } from "@promptd/contract/manage";
import { queryAnswer, queryAnswers } from "../../platform/database/answers.ts";
import type { Queryable, Tx } from "../../platform/database/database.ts";
import { lockPerson } from "../people-store.ts";

const COLUMNS = `id as "passkeyId", coalesce(name, 'Passkey') as name, backed_up as "isBackedUp", created_at as "createdAt",
  last_used_at as "lastUsedAt"`;

/** What is needed to check a signature. */
export interface StoredCredential {
  readonly passkeyId: string;
  readonly personId: string;
  readonly credentialId: string;
  /** COSE, in Base64URL. */
  readonly publicKey: string;
  readonly counter: number;
  readonly transports: string | null;
}

export function listPasskeys(db: Queryable, personId: string): Promise<Passkey[]> {
  const text = `select ${COLUMNS} from auth_passkeys where user_id = $1 order by id desc`;
  return queryAnswers(db, text, [personId]);
}

export async function listCredentials(
  db: Queryable,
  personId: string,
): Promise<{ readonly credentialId: string; readonly transports: string | null }[]> {
  return db.query(`select credential_id as "credentialId", transports from auth_passkeys where user_id = $1`, [
    personId,
  ]);
}

export interface PasskeyToInsert extends StoredCredential {
  readonly name: string;
  readonly deviceType: string;
  readonly isBackedUp: boolean;
  readonly aaguid: string;
}

/**
 * Locks the person, whose passkeys are counted. Null: the credential is already registered, or the person has the
 * maximum number of passkeys.
 */
export async function insertPasskey(tx: Tx, given: PasskeyToInsert, max: number): Promise<Passkey | null> {
  await lockPerson(tx, given.personId);
  return queryAnswer(
    tx,
    `insert into auth_passkeys
       (id, user_id, name, public_key, credential_id, counter, device_type, backed_up, transports, aaguid)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
     where (select count(*) from auth_passkeys where user_id = $2) < $11
     on conflict (credential_id) do nothing returning ${COLUMNS}`,
    [
      given.passkeyId,
      given.personId,
      given.name,
      given.publicKey,
      given.credentialId,
      given.counter,
      given.deviceType,
      given.isBackedUp,
      given.transports,
      given.aaguid,
      max,
    ],
  );
}

/** Null: the person has no such passkey. */
export function deletePasskey(db: Queryable, personId: string, passkeyId: string): Promise<Passkey | null> {
  const text = `delete from auth_passkeys where id = $2 and user_id = $1 returning ${COLUMNS}`;
  return queryAnswer(db, text, [personId, passkeyId]);
}

export function findCredential(db: Queryable, credentialId: string): Promise<StoredCredential | null> {
  return queryAnswer(
    db,
    `select id as "passkeyId", user_id as "personId", credential_id as "credentialId", public_key as "publicKey", counter,
       transports from auth_passkeys where credential_id = $1`,
    [credentialId],
  );
}

/** False: the same signature, or a signature by a copy of the passkey, came first. */
export async function noteUse(
  db: Queryable,
  passkeyId: string,
  { counter, isBackedUp }: { readonly counter: number; readonly isBackedUp: boolean },
): Promise<boolean> {
  const rows = await db.query(
    `update auth_passkeys set counter = $2, backed_up = $3, last_used_at = promptd_now()
     where id = $1 and (counter < $2 or (counter = 0 and $2 = 0)) returning 1`,
    [passkeyId, counter, isBackedUp],
  );
  return rows.length === 1;
}

/** If two responses use the same challenge, only one is accepted. */
export async function useChallenge(db: Queryable, challenge: Buffer, seconds: number): Promise<boolean> {
  const rows = await db.query(
    `insert into passkey_challenges (challenge, expires_at) values ($1, promptd_now() + make_interval(secs => $2))
     on conflict do nothing returning 1`,
    [challenge, seconds],
  );
  return rows.length === 1;
}

export async function pruneChallenges(db: Queryable): Promise<void> {
  await db.query("delete from passkey_challenges where expires_at < promptd_now()");
}
