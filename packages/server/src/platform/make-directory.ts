import { mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "./reason-of.ts";

/**
 * Creates a folder and its missing parents, readable only by their owner. Node's recursive option never returns if the
 * system refuses a name with ENOENT although the parent exists, as /proc does (24.21, tried 2026-11-21): startup would
 * hang.
 * @throws the system's error.
 */
export async function makePrivateDirectory(path: string): Promise<void> {
  if (await makeOne(path)) return;
  await makePrivateDirectory(dirname(path));
  if (!(await makeOne(path))) throw Object.assign(new Error(`cannot create a folder at ${path}`), NO_FOLDER);
}

const NO_FOLDER = { code: "ENOTSUP", syscall: "mkdir" };

/** @returns false if the parent folder does not exist. */
async function makeOne(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" && dirname(path) !== path) return false;
    if (code === "EEXIST" && (await stat(path)).isDirectory()) return true;
    throw error;
  }
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
