import type { Database } from "../platform/database.ts";
import { insertFileKey, lockFileKeys, type FileKeyRow } from "./files-store.ts";
import { deriveFileKey, fingerprintOf, type KeyRing } from "./signed-urls.ts";

export interface FileSecrets {
  readonly current: Buffer;
  /** The secret before a rotation; null or absent otherwise. */
  readonly previous: Buffer | null;
}

/**
 * Gives each secret its number and says which may still open files. All processes on one database must agree on the
 * secret; a new one is taken only together with the one it follows, so a mixed-up setting cannot spoil addresses.
 * @throws Error when the secret is not the one this database knows and no rotation explains it.
 */
export async function registerFileKeys(db: Database, secrets: FileSecrets, ttlSeconds: number): Promise<KeyRing> {
  const rows = await db.tx(async (tx) => {
    const known = await lockFileKeys(tx);
    const newest = known[0];
    if (newest !== undefined && isOf(newest, secrets.current)) return known;
    if (newest !== undefined && !isOf(newest, secrets.previous)) throw new Error(STRANGE_SECRET);
    await insertFileKey(tx, (newest?.id ?? 0) + 1, fingerprintOf(secrets.current));
    return lockFileKeys(tx);
  });
  return ringOf(rows, secrets, ttlSeconds);
}

const STRANGE_SECRET =
  "The server secret is not the one this database was set up with. Every promptd process needs the same secret: " +
  "restore it, or for a rotation give the old one as the previous secret. If the old one is lost, remove " +
  "the rows of the table file_keys; addresses of files made so far then stop working.";

function isOf(row: FileKeyRow, secret: Buffer | null): boolean {
  return secret !== null && row.fingerprint.equals(fingerprintOf(secret));
}

function ringOf(rows: readonly FileKeyRow[], secrets: FileSecrets, ttlSeconds: number): KeyRing {
  const [newest, before] = rows;
  if (newest === undefined) throw new Error("No file key is registered.");
  const current = { keyId: newest.id, key: deriveFileKey(secrets.current) };
  if (before === undefined || secrets.previous === null || !isOf(before, secrets.previous)) {
    return { current, previous: null };
  }
  const previous = {
    keyId: before.id,
    key: deriveFileKey(secrets.previous),
    // It was retired when the newest came.
    acceptedUntilMs: newest.createdAt.getTime() + ttlSeconds * 1_000,
  };
  return { current, previous };
}
