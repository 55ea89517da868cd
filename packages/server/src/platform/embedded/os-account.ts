/**
 * The operating system account that the database server runs under. PostgreSQL refuses to run as root, so a promptd
 * that runs as root starts it under an unprivileged account. Everyone else runs it under their own account.
 */
import { readFile } from "node:fs/promises";

export interface ServerAccount {
  readonly uid: number;
  readonly gid: number;
  /** True if the server runs under a different account than this process, which only root can do. */
  readonly isForeign: boolean;
}

/** `nobody` on Linux. Other services may run under it, so a dedicated account is better. */
export const DEFAULT_DB_UID = 65_534;

/**
 * In an ordinary user's directory the server runs as that user even if root starts it, so that the user can keep using
 * it afterwards. In root's own directory it runs under the requested account.
 * @param owners uids that own the data directory, and the cluster in it; null before the first start.
 */
export async function chooseServerAccount(
  owners: { readonly dataDir: number; readonly cluster: number | null },
  dbUid: number,
): Promise<ServerAccount> {
  const { uid, gid } = ownIds();
  if (uid !== 0) {
    const owner = owners.cluster ?? owners.dataDir;
    if (owner !== uid) {
      throw new Error(
        `it belongs to uid ${owner}, but this process runs as uid ${uid}. Start promptd as its owner, or change its owner.`,
      );
    }
    return { uid, gid, isForeign: false };
  }
  const chosen = owners.dataDir === 0 ? dbUid : owners.dataDir;
  return { uid: chosen, gid: await primaryGroup(chosen), isForeign: true };
}

export function ownIds(): { uid: number; gid: number } {
  return { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
}

async function primaryGroup(uid: number): Promise<number> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  const fields = lines.map((line) => line.split(":")).find((entry) => entry[2] === String(uid));
  const gid = Number(fields?.[3]);
  return Number.isInteger(gid) && gid > 0 ? gid : uid;
}
