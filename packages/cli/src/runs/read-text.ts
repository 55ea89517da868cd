import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, type CommandIo } from "../command.ts";
import { describeReadFailure } from "../files/file-failure.ts";
import { printableLine } from "../printable.ts";

/**
 * Reads the text of a file, without a byte order mark.
 * @param ifDirectory what to do when the path is a directory, such as "name a JSON file in it".
 * @throws CommandFailure when the file cannot be read or is not UTF-8.
 */
export async function readText(
  name: string,
  ifDirectory: string,
  { directory }: Pick<CommandIo, "directory">,
): Promise<string> {
  return decodeText(await readBytes(resolve(directory, name), name, ifDirectory), name);
}

async function readBytes(path: string, name: string, ifDirectory: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new CommandFailure(describeReadFailure(name, error, ifDirectory), { cause: error });
  }
}

/** The name of standard input in error messages. */
export const STDIN_NAME = "Standard input";

/** @throws CommandFailure for invalid UTF-8: otherwise, broken characters would be run and charged. */
export function decodeText(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new CommandFailure(`${printableLine(name)} is not UTF-8 text.`, {
      hint: "Save it as UTF-8, and run the command again.",
      cause: error,
    });
  }
}
