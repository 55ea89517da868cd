/**
 * The operating system account the database server runs under. PostgreSQL refuses to run as root, so a root start
 * hands it to an unprivileged account; everyone else runs it as themselves.
 */
import { readFile } from "node:fs/promises";

export interface ServerAccount {
  readonly uid: number;
  readonly gid: number;
  /** True when the server runs under another account than this process: only possible for root. */
  readonly isForeign: boolean;
}

/** `nobody` on Linux. Other services may run under it, so a dedicated account is better. */
export const DEFAULT_DB_UID = 65_534;

/**
 * @param owner uid that owns the data directory: a root start keeps serving an ordinary user's directory as that user,
 * so that the user can go on with it afterwards.
 */
export async function chooseServerAccount(owner: number, dbUid: number | undefined): Promise<ServerAccount> {
  const { uid, gid } = ownIds();
  if (uid !== 0) {
    if (owner !== uid) throw new WrongOwner(owner, uid);
    return { uid, gid, isForeign: false };
  }
  const chosen = owner === 0 ? (dbUid ?? DEFAULT_DB_UID) : owner;
  if (chosen === 0) throw new Error("PROMPTD_DB_UID must not be 0: PostgreSQL refuses to run as root.");
  return { uid: chosen, gid: await primaryGroup(chosen), isForeign: true };
}

export class WrongOwner extends Error {
  constructor(owner: number, uid: number) {
    super(`It belongs to uid ${owner}, this process runs as uid ${uid}. Start promptd as its owner, or change its owner.`);
  }
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
