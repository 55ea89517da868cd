/** Checks that results can be written, before anything is paid for. */
import { makeFolder } from "@promptd/server/make-folder";
import { access, constants, rm, stat, writeFile } from "node:fs/promises";
import { CommandFailure } from "../command.ts";
import { describeWriteFailure } from "./file-failure.ts";

/** Creates the folder if it is missing. @throws CommandFailure */
export function requireFolder(path: string): Promise<void> {
  return orNothingRun(path, async () => {
    await makeFolder(path);
    await access(path, constants.W_OK);
  });
}

/** Leaves no file. @throws CommandFailure */
export function requireFile(path: string): Promise<void> {
  return orNothingRun(path, async () => {
    const found = await stat(path).catch(() => null);
    if (found?.isDirectory() === true) throw Object.assign(new Error("is a folder"), { code: "EISDIR" });
    const draft = draftOf(path);
    await writeFile(draft, "");
    await rm(draft);
  });
}

/** Where a file is written before it gets its name, so that it is complete or missing. */
export const draftOf = (path: string): string => `${path}.${process.pid}.tmp`;

async function orNothingRun(path: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    const hint = "Nothing was run, and nothing was charged.";
    throw new CommandFailure(describeWriteFailure(path, error), { hint, cause: error });
  }
}
