/**
 * The server process named in the cluster's `postmaster.pid`. Process ids are reused (in a container nearly always), so
 * a process counts as ours only if its working directory is the cluster directory, as PostgreSQL's always is.
 */
import { readdir, readFile, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { pollUntil } from "../resilience/deadline.ts";

const PID_FILE = "postmaster.pid";

export function readPidFile(clusterDir: string): Promise<string | null> {
  return readFile(join(clusterDir, PID_FILE), "utf8").catch(() => null);
}

/** Returns the id of the running server process, which may still be starting or already stopping; null: none runs. */
export async function findPostmaster(clusterDir: string): Promise<number | null> {
  const pid = pidIn(await readPidFile(clusterDir));
  return pid !== null && (await worksIn(clusterDir, pid)) ? pid : null;
}

/** Whether the server accepts connections: the file then ends with the line `ready`. */
export async function isReady(clusterDir: string): Promise<boolean> {
  return /^ready\s*$/m.test((await readPidFile(clusterDir)) ?? "");
}

/**
 * Removes an old pid file. PostgreSQL refuses to start while the id in it belongs to any running process. The file is
 * removed only if no process works in the cluster directory: an orphaned backend may still write to it.
 */
export async function removeStalePidFile(clusterDir: string): Promise<boolean> {
  const pid = pidIn(await readPidFile(clusterDir));
  if (pid === null || !isSomeProcess(pid) || (await isInUse(clusterDir))) return false;
  await unlink(join(clusterDir, PID_FILE));
  return true;
}

/** @returns false if the process still runs after that time. */
export async function waitForEnd(clusterDir: string, pid: number, waitMsMax: number): Promise<boolean> {
  const hasEnded = async () => ((await worksIn(clusterDir, pid)) ? null : true);
  return (await pollUntil(hasEnded, { everyMs: 20, timeoutMs: waitMsMax })) ?? false;
}

function pidIn(text: string | null): number | null {
  const pid = Number(text?.split("\n")[0]);
  return Number.isInteger(pid) && pid > 1 ? pid : null;
}

function isSomeProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // it ended, or belongs to another user: PostgreSQL ignores those as well
  }
}

async function isInUse(clusterDir: string): Promise<boolean> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const others = pids.filter((pid) => pid !== process.pid);
  const uses = await Promise.all(others.map((pid) => worksIn(clusterDir, pid)));
  return uses.includes(true);
}

/** A process that has ended, is a zombie, or belongs to another user has no readable working directory. */
async function worksIn(clusterDir: string, pid: number): Promise<boolean> {
  const [there, ours] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(clusterDir)].map((p) => p.catch(() => null)));
  return there != null && ours != null && there.ino === ours.ino && there.dev === ours.dev;
}
