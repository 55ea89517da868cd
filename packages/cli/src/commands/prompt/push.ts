import { PromptdError } from "@promptd/client";
import type { ManageClient } from "@promptd/client/manage";
import type { CheckedPrompt } from "@promptd/contract/manage";
import type { PromptFile } from "@promptd/server/authoring";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, type Command, type CommandIo } from "../../command.ts";
import { describeWriteFailure } from "../../files/file-failure.ts";
import { formatTable } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { withManagement } from "../../session.ts";
import { readPromptFile } from "./author-files.ts";
import { withPromptId } from "./prompt-id-line.ts";

export interface Pushed {
  readonly file: string;
  readonly promptId: string;
  readonly title: string;
  readonly revision: number;
  readonly isNew: boolean;
}

export const promptPush: Command = {
  summary: "Save prompt files as drafts in your account on the server",
  usage: "FILE…",
  details: `Nothing is published. A file becomes the draft of the prompt with its id, or else the one with its slug, or else replaces the unpublished draft with its title. If nothing matches, it creates a new prompt.
A draft saved by another member of your account is not overwritten: pull it first, or push with --force.`,
  session: `$ promptd prompt push tea.prompt.md --write-id
SAVED  PROMPT                                REVISION  FILE
new    01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33  1         tea.prompt.md`,
  options: {
    "write-id": {
      type: "boolean",
      summary: "write the promptId into files that have none, so that their titles can change",
    },
    force: { type: "boolean", summary: "overwrite a draft saved by somebody else" },
  },
  run: async (args, io) => {
    const read = await Promise.all(args.positionals.map((name) => readPromptFile(name, io)));
    const [pushed, failures]: [Pushed[], string[]] = [[], read.flatMap((file) => ("why" in file ? [file.why] : []))];
    await withManagement(io, async (manage) => {
      for (const file of read) {
        if ("why" in file) continue;
        try {
          const writesId = args.flag("write-id");
          const { checked: _, ...saved } = await pushFile(manage, file, { io, isForced: args.flag("force"), writesId });
          pushed.push(saved);
          if (writesId) await writeId(file, saved.promptId, io);
        } catch (error) {
          if (!(error instanceof PromptdError) && !(error instanceof CommandFailure)) throw error;
          if (error instanceof PromptdError && error.code === "UNAUTHORIZED_ERROR") throw error;
          failures.push(`${file.name} was not saved: ${error.message}`);
        }
      }
    });
    if (pushed.length === 0) throw new CommandFailure(failures.join("\n"));
    for (const failure of failures) io.note(failure);
    const rows = pushed.map((one) => [one.isNew ? "new" : "draft", one.promptId, String(one.revision), one.file]);
    io.result(
      pushed,
      formatTable([["SAVED", "PROMPT", "REVISION", "FILE"], ...rows.map((row) => row.map(printableLine))]),
    );
    return failures.length === 0 ? 0 : 1;
  },
};

interface PushOptions {
  readonly io: CommandIo;
  readonly isForced: boolean;
  /** The prompt's id will be written into the file. */
  readonly writesId: boolean;
}

interface PushedFile extends Pushed {
  /** Null: the file has faults. */
  readonly checked: CheckedPrompt | null;
}

/** A file with faults can also be a draft. Its id then determines the prompt. */
export async function pushFile(
  manage: ManageClient,
  { name, text: source }: PromptFile,
  { io, isForced, writesId }: PushOptions,
): Promise<PushedFile> {
  const { signal } = io;
  const { prompts, faults } = await manage.send("checkPromptFile", { body: { source }, signal });
  const [checked = null, ...others] = prompts;
  if (others.length > 0) throw new CommandFailure("it contains several prompts. Publish it as it is, or split it.");
  for (const fault of faults) io.note(`${name}:${fault.line ?? 1}: ${printableLine(fault.message)}`);
  const promptId = checked === null ? idOfFaulty(source) : checked.promptId;
  if (promptId === null) {
    if (checked === null && !writesId) throw new CommandFailure(FAULTY_WITHOUT_ID);
    const made = await manage.send("createDraft", { body: { source }, signal });
    const revision = made.draft?.revision ?? 1;
    return { file: name, promptId: made.promptId, title: made.title, revision, isNew: true, checked };
  }
  const own = await manage.send("getPrompt", { params: { promptId }, signal });
  const { draft } = own;
  if (draft !== null && own.source !== source && !isForced && draft.savedBy !== (await nameOf(manage, io))) {
    const who = draft.savedBy === null ? "" : ` by ${printableLine(draft.savedBy)}`;
    throw new CommandFailure(
      `its prompt has another draft, saved ${draft.savedAt}${who}. Pull it with "promptd prompt pull ${promptId}", or push with --force.`,
    );
  }
  const body = { source, revision: draft?.revision ?? 0 };
  const saved = await manage.send("saveDraft", { params: { promptId }, body, signal });
  return { file: name, promptId, title: saved.title, revision: saved.draft?.revision ?? 0, isNew: false, checked };
}

const FAULTY_WITHOUT_ID =
  "it has errors and no prompt id, so each push would create another prompt. Fix the errors, or push with --write-id.";

function idOfFaulty(source: string): string | null {
  return /^id[ \t]*:[ \t]*["']?([0-9a-f-]{36})/im.exec(source)?.[1] ?? null;
}

/** The name of the signed-in person, who may replace their own draft. */
async function nameOf(manage: ManageClient, io: CommandIo): Promise<string> {
  return (await manage.send("getSession", { signal: io.signal })).person.name;
}

export async function writeId({ name, text }: PromptFile, promptId: string, io: CommandIo): Promise<void> {
  const changed = withPromptId(text, promptId);
  if (changed === null) return;
  try {
    await writeFile(resolve(io.directory, name), changed);
  } catch (error) {
    io.note(describeWriteFailure(name, error));
  }
}
