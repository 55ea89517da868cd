import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../platform/reason-of.ts";
import type { OnSkipped, SpooledFile } from "./blob-store.ts";

/** Where provider videos are written as they arrive: four at once of 200 MiB each would fill a worker's memory. */
export interface Spool {
  /** Writes the pieces to a new file. Errors of `pieces` are rethrown, and nothing is left behind. */
  write(pieces: AsyncIterable<Uint8Array>): Promise<SpooledFile>;
  /** Removes files that dead processes left behind before that time. */
  discardBefore(beforeMs: number, onSkipped: OnSkipped): Promise<void>;
}

export const PRIVATE_DIRECTORY = 0o700;
export const PRIVATE_FILE = 0o600;

/** @param directory on the same file system as the blobs, so that a file can become a blob without being copied. */
export function createSpool(directory: string): Spool {
  return {
    write: async (pieces) => {
      await mkdir(directory, { recursive: true, mode: PRIVATE_DIRECTORY });
      const path = join(directory, randomBytes(16).toString("hex"));
      const discard = () => unlink(path).catch(ignoreMissing);
      try {
        return { path, discard, ...(await writePieces(path, pieces)) };
      } catch (error) {
        await discard();
        throw error;
      }
    },
    discardBefore: (beforeMs, onSkipped) => removeOlder(directory, beforeMs, onSkipped),
  };
}

async function writePieces(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
): Promise<Pick<SpooledFile, "bytes" | "sha256">> {
  const file = await open(path, "wx", PRIVATE_FILE);
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      await file.writeFile(piece);
      hash.update(piece);
      bytes += piece.byteLength;
    }
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Removes the files in a directory that were last written before that time. */
export async function removeOlder(directory: string, beforeMs: number, onSkipped: OnSkipped): Promise<void> {
  for (const name of (await readdir(directory).catch(ignoreMissing)) ?? []) {
    const path = join(directory, name);
    try {
      if ((await stat(path)).mtimeMs < beforeMs) await unlink(path);
    } catch (cause) {
      if (!isMissing(cause)) onSkipped(cause);
    }
  }
}

export function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(error) ?? "");
}

export function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
