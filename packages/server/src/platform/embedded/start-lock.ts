/**
 * Only one process at a time starts or stops the server of a data directory. The lock is a symbolic link whose target
 * names the holder: it is created and filled in one system call, so nobody ever sees it empty.
 */
import { readFile, readlink, symlink, unlink } from "node:fs/promises";
import { codeOf } from "../reason-of.ts";
import { pollUntil } from "../resilience/deadline.ts";

const POLL_MS = 25;
/** Longer than any startup: crash recovery of a large cluster takes minutes. */
const WAIT_MS_DEFAULT = 600_000;
/**
 * Another lock guards the removal of a stale lock, and so on: to need more, three processes must die during one
 * removal.
 */
const TAKEOVER_DEPTH_MAX = 3;

export interface LockWait {
  readonly waitMsMax?: number;
  /** Ends the wait with its reason; the work itself is not interrupted. */
  readonly signal?: AbortSignal;
}

/** @throws Error if another running process holds the lock for longer than `waitMsMax`. */
export async function withStartLock<Result>(
  file: string,
  work: () => Promise<Result>,
  lockWait: LockWait = {},
): Promise<Result> {
  await acquire(file, 0, lockWait);
  try {
    return await work();
  } finally {
    await unlink(file).catch(() => {});
  }
}

async function acquire(file: string, depth: number, lockWait: LockWait): Promise<void> {
  const { waitMsMax = WAIT_MS_DEFAULT, signal } = lockWait;
  const me = await nameProcess(process.pid);
  if (me === null) throw new Error("The embedded database needs /proc to see which processes are running.");
  let lastHolder = "unknown";
  const ask = async () => {
    if (await tryCreate(file, me)) return true;
    const holder = await readlink(file).catch(() => null);
    lastHolder = holder ?? "unknown";
    if (holder === null || (await isAlive(holder))) return null;
    await removeStale(file, holder, depth);
    return (await tryCreate(file, me)) ? true : null;
  };
  if ((await pollUntil(ask, { everyMs: POLL_MS, timeoutMs: waitMsMax, signal })) !== null) return;
  throw new Error(`Process ${lastHolder} has been starting the database for too long (${file}).`);
}

async function tryCreate(file: string, me: string): Promise<boolean> {
  try {
    await symlink(me, file);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes the lock of a dead holder. Two processes may find the same dead holder, and the slower must not remove the
 * lock that the faster has taken since. So only the holder of the takeover lock removes a lock, after checking it
 * again.
 */
async function removeStale(file: string, holder: string, depth: number): Promise<void> {
  const takeover = `${file}.takeover`;
  if (depth < TAKEOVER_DEPTH_MAX) await acquire(takeover, depth + 1, {});
  try {
    if ((await readlink(file).catch(() => null)) === holder) await unlink(file);
  } finally {
    if (depth < TAKEOVER_DEPTH_MAX) await unlink(takeover).catch(() => {});
  }
}

async function isAlive(holder: string): Promise<boolean> {
  return (await nameProcess(Number(holder.split("-")[0]))) === holder;
}

/** Returns process id and start time, because ids are reused; null for a process that has ended or is a zombie. */
async function nameProcess(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  // The command name is in parentheses and may contain spaces; fields 3 (state) and 22 (start time) follow it.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields === undefined || fields[0] === "Z" ? null : `${pid}-${fields[19]}`;
}
