import { imageFromBytes, imageFromUrl } from "@promptd/client";
import type { ImageInput } from "@promptd/contract";
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure } from "../command.ts";
import { describeReadFailure } from "../file-failure.ts";

/** Bounds memory, not the interface: the server takes 10 MiB per image and says so itself. */
const IMAGE_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Reads `key=value` pairs; the key ends at the first "=".
 * @throws CommandFailure for a pair without "=", an empty key or a repeated one.
 */
export function readPairs(flag: string, pairs: readonly string[]): Record<string, string> {
  const read = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 1) throw new CommandFailure(`${flag} must have the form KEY=VALUE, got "${pair}".`);
    const key = pair.slice(0, at);
    if (read.has(key)) throw new CommandFailure(`${flag} names "${key}" twice. Give it once.`);
    read.set(key, pair.slice(at + 1));
  }
  return Object.fromEntries(read);
}

/** An address is passed on, a path is read. @throws CommandFailure when a file cannot be read. */
export async function readImage(source: string, directory: string): Promise<ImageInput> {
  if (/^https?:\/\//i.test(source)) return imageFromUrl(source);
  const path = resolve(directory, source);
  try {
    const { size } = await stat(path);
    if (size > IMAGE_BYTES_MAX)
      throw new CommandFailure(`${source} is too large for an image: ${size} bytes. The limit is 10 MiB.`);
    return imageFromBytes(await readFile(path));
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(describeReadFailure(source, error, "name an image in it"), { cause: error });
  }
}
