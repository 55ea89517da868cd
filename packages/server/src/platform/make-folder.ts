/** Makes folders, and makes files durable. The command line uses it too: entry "@promptd/server/make-folder". */
import { mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "./reason-of.ts";

/**
 * Creates a folder and its missing parents. Node's recursive option never returns if the system refuses a name with
 * ENOENT although the parent exists, as /proc does (24.21, tried 2026-11-28): startup would hang.
 * @throws the system's error.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  if (await isMade(path, mode)) return;
  await makeFolder(dirname(path), mode);
  if (!(await isMade(path, mode))) throw Object.assign(new Error(`cannot create a folder at ${path}`), IMPOSSIBLE);
}

const IMPOSSIBLE = { code: "ENOTSUP", syscall: "mkdir" };

/** @returns false if the parent does not exist. */
async function isMade(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT" && dirname(path) !== path) return false;
    if (await isFolder(path)) return true; // also where the system refuses a name that exists, as on a read-only disk
    throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/**
 * Makes a file durable, or the names in a directory. Only then is a created or renamed file sure to survive a crash.
 */
export async function syncPath(path: string): Promise<void> {
  const opened = await open(path, "r");
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
