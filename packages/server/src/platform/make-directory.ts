import { mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "./reason-of.ts";

/**
 * Makes a folder and those above it, readable by their owner only. Node's recursive form never ends where the system
 * refuses a name with ENOENT although its parent is there, as /proc does (24.21, tried 2026-11-21): the start would hang.
 * @throws the system's error.
 */
export async function makePrivateDirectory(path: string): Promise<void> {
  if (await makeOne(path)) return;
  await makePrivateDirectory(dirname(path));
  if (!(await makeOne(path))) throw Object.assign(new Error(`no folder can be made at ${path}`), NO_FOLDER);
}

const NO_FOLDER = { code: "ENOTSUP", syscall: "mkdir" };

/** @returns false when the folder above is missing. */
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

/** Makes a file durable, or the names in a directory: a file that was made or renamed is only then sure to be found. */
export async function syncPath(path: string): Promise<void> {
  const opened = await open(path, "r");
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
