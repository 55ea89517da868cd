/** The secrets of authenticator apps, which are stored encrypted: they stay readable when the server's secret changes. */
import type { Queryable } from "../../platform/database/database.ts";
import { doInBatches } from "../../platform/periodic-work.ts";
import { markOf, type AuthSecrets } from "./auth-secrets.ts";

interface SecondFactor {
  readonly id: string;
  readonly secret: string;
  readonly backupCodes: string;
}

const BATCH = 500;
/** Comes before every id that we make. */
const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";

/**
 * After a rotation of the server's secret: encrypts with the current secret whatever the previous one encrypted. What
 * no known secret decrypts stays as it is, so each batch begins after the last row of the one before.
 */
export async function reencryptSecondFactors(db: Queryable, secrets: AuthSecrets, stop?: AbortSignal): Promise<void> {
  if (secrets.length === 1) return;
  let after = BEFORE_ALL;
  const reencryptNext = async () => {
    const others = await listOthers(db, secrets, after);
    for (const one of others) await reencryptOne(db, one, secrets);
    after = others.at(-1)?.id ?? after;
    return others.length;
  };
  await doInBatches(BATCH, reencryptNext, stop);
}

/** The first second factors after this id that the current secret has not encrypted. */
function listOthers(db: Queryable, secrets: AuthSecrets, after: string): Promise<SecondFactor[]> {
  return db.query<SecondFactor>(
    `select id, secret, backup_codes as "backupCodes" from auth_two_factors
     where id > $2 and (not starts_with(secret, $1) or not starts_with(backup_codes, $1)) order by id limit ${BATCH}`,
    [markOf(secrets[0]), after],
  );
}

async function reencryptOne(db: Queryable, before: SecondFactor, secrets: AuthSecrets): Promise<void> {
  const { reencrypt } = await import("../sign-in/sessions.ts"); // loads better-auth, for which there is rarely a reason
  const [secret, backupCodes] = await Promise.all([
    reencrypt(before.secret, secrets),
    reencrypt(before.backupCodes, secrets),
  ]);
  if (secret !== null && backupCodes !== null) await replace(db, before, { ...before, secret, backupCodes });
}

/** Skips a second factor whose backup code was used, or that was set up again, meanwhile. */
async function replace(db: Queryable, before: SecondFactor, after: SecondFactor): Promise<void> {
  await db.query(
    `update auth_two_factors set secret = $4, backup_codes = $5 where id = $1 and secret = $2 and backup_codes = $3`,
    [before.id, before.secret, before.backupCodes, after.secret, after.backupCodes],
  );
}
