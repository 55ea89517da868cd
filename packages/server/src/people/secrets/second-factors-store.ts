/** The secrets of authenticator apps, which are stored encrypted: they stay readable when the server's secret changes. */
import type { Queryable } from "../../platform/database/database.ts";
import { markOf, type AuthSecrets } from "./auth-secrets.ts";

interface SecondFactor {
  readonly id: string;
  readonly secret: string;
  readonly backupCodes: string;
}

const BATCH = 500;

/** After a rotation of the server's secret: encrypts with the current secret whatever the previous one encrypted. */
export async function reencryptSecondFactors(db: Queryable, secrets: AuthSecrets): Promise<void> {
  if (secrets.length === 1) return;
  const others = await db.query<SecondFactor>(
    `select id, secret, backup_codes as "backupCodes" from auth_two_factors
     where not starts_with(secret, $1) or not starts_with(backup_codes, $1) order by id limit ${BATCH}`,
    [markOf(secrets[0])],
  );
  if (others.length === 0) return;
  const { reencrypt } = await import("../sign-in/sessions.ts"); // loads better-auth, for which there is rarely a reason
  for (const before of others) {
    const [secret, backupCodes] = await Promise.all([
      reencrypt(before.secret, secrets),
      reencrypt(before.backupCodes, secrets),
    ]);
    if (secret !== null && backupCodes !== null) await replace(db, before, { ...before, secret, backupCodes });
  }
}

/** Skips a second factor whose backup code was used, or that was set up again, meanwhile. */
async function replace(db: Queryable, before: SecondFactor, after: SecondFactor): Promise<void> {
  await db.query(
    `update auth_two_factors set secret = $4, backup_codes = $5 where id = $1 and secret = $2 and backup_codes = $3`,
    [before.id, before.secret, before.backupCodes, after.secret, after.backupCodes],
  );
}
