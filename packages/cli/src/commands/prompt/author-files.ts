import type { Authoring, PromptFile } from "@promptd/server/authoring";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, type CommandIo } from "../../command.ts";
import { describeReadFailure } from "../../files/file-failure.ts";

/** One sentence that says why a file could not be read. */
export interface UnreadFile {
  readonly name: string;
  readonly why: string;
}

export async function readPromptFile(name: string, io: CommandIo): Promise<PromptFile | UnreadFile> {
  try {
    const bytes = await readFile(resolve(io.directory, name));
    return { name, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    if (error instanceof TypeError) return { name, why: `${name} is not UTF-8 text. Save it as UTF-8.` };
    return { name, why: describeReadFailure(name, error, "name the *.prompt.md files in it") };
  }
}

/** @throws CommandFailure when the file cannot be read. */
export async function requirePromptFile(name: string, io: CommandIo): Promise<PromptFile> {
  const read = await readPromptFile(name, io);
  if ("why" in read) throw new CommandFailure(read.why);
  return read;
}

/** Loads the server only now, and shows an author's mistake as a message without a stack trace. */
export async function runAsAuthor<Result>(
  io: CommandIo,
  work: (authoring: Authoring, server: typeof import("@promptd/server/authoring")) => Promise<Result> | Result,
): Promise<Result> {
  const server = await import("@promptd/server/authoring");
  try {
    return await work(new server.Authoring(io.env), server);
  } catch (error) {
    const message = server.explainFailure(error);
    throw message === null ? error : new CommandFailure(message, { cause: error });
  }
}
