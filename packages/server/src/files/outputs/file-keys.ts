import type { Database } from "../../platform/database/database.ts";
import type { Config } from "../../platform/config/config.ts";
import { OUTAGE_POLICY } from "../../platform/database/errors.ts";
import type { Log } from "../../platform/log.ts";
import { retry } from "../../platform/resilience/retry.ts";
import { insertFileKey, listFileKeys, lockFileKeys, type FileKeyRow } from "../files-store.ts";
import { readPreviousSecrets, readServerSecret, type SecretReadings } from "../../platform/config/server-secret.ts";
import { deriveFileKey, fingerprintOf, type KeyRing } from "./signed-urls.ts";

export interface FileSecrets {
  readonly current: SecretReadings;
  /** Candidates for the secret before a rotation; the database knows which one it is. */
  readonly previous: readonly Buffer[];
}

/**
 * Numbers the secrets and determines which ones may still open files. All processes on one database must agree on the
 * secret. A new secret is accepted only together with its predecessor, so a mixed-up setting cannot break addresses.
 * @throws Error if the secret is not the one that this database knows and no rotation explains it.
 */
export async function registerFileKeys(db: Database, secrets: FileSecrets, ttlSeconds: number): Promise<KeyRing> {
  const rows = await db.tx(async (tx) => {
    const known = await lockFileKeys(tx);
    const newest = known[0];
    if (newest !== undefined && secretOf(newest, secrets.current) !== null) return known;
    if (newest !== undefined && secretOf(newest, secrets.previous) === null) throw new Error(STRANGE_SECRET);
    await insertFileKey(tx, (newest?.id ?? 0) + 1, fingerprintOf(secrets.current[0]));
    return lockFileKeys(tx);
  });
  return ringOf(rows, secrets, ttlSeconds);
}

/**
 * Reads the secrets at startup. If the database knows a secret, a missing secret file is not created, unless it replaces the
 * previous secret: otherwise startup would fail and leave behind the file of a secret that nothing uses.
 * @throws Error if a file cannot be used, or is missing although the database knows its secret.
 */
export async function readFileSecrets(db: Database, config: Config, log: Log): Promise<FileSecrets> {
  const previous = await readPreviousSecrets(config, log);
  const mayCreate = async () => {
    const [newest] = await retry(() => listFileKeys(db), OUTAGE_POLICY);
    if (newest !== undefined && secretOf(newest, previous) === null) throw new Error(STRANGE_SECRET);
  };
  return { current: await readServerSecret(config, mayCreate), previous };
}

const STRANGE_SECRET = `The server secret does not match the one that this database knows. Nothing was changed.
Every promptd process needs the same secret: set PROMPTD_SECRET to the old one. If PROMPTD_SECRET is not set, the secret is the file "secret" in the data directory.
To rotate the secret, set PROMPTD_SECRET_PREVIOUS to the old one. If it is not set, the previous secret is the file "secret.previous" in the data directory.
If the old secret is lost, delete all rows from the table file_keys. URLs of existing files then stop working, webhooks wait until their owners roll their secrets, and people with an authenticator app need a link from "promptd admin sign-in-link" and must set the app up again.`;

function secretOf(row: FileKeyRow, secrets: readonly Buffer[]): Buffer | null {
  return secrets.find((secret) => row.fingerprint.equals(fingerprintOf(secret))) ?? null;
}

function ringOf(rows: readonly FileKeyRow[], secrets: FileSecrets, ttlSeconds: number): KeyRing {
  const [newest, before, third] = rows as readonly [FileKeyRow, ...FileKeyRow[]]; // it is registered
  const current = { keyId: newest.id, key: deriveFileKey(secretOf(newest, secrets.current) as Buffer) };
  // After a rotation was rolled back, the current secret appears twice: it opens what it signed before the rotation.
  const previous = [retire(before, newest, secrets.previous), retire(third, before, secrets.current)];
  return { current, previous: previous.filter((key) => key !== null) };

  /** A key is retired when its successor is created. */
  function retire(row: FileKeyRow | undefined, successor: FileKeyRow | undefined, known: readonly Buffer[]) {
    if (row === undefined || successor === undefined) return null;
    const found = secretOf(row, known);
    if (found === null) return null;
    return {
      keyId: row.id,
      key: deriveFileKey(found),
      acceptedUntilMs: successor.createdAt.getTime() + ttlSeconds * 1_000,
    };
  }
}
