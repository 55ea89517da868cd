import type { ManageClient } from "@promptd/client/manage";
import type { PromptFileCheck } from "@promptd/contract/manage";
import type { PromptFile } from "@promptd/server/authoring";
import { CommandFailure, type Command, type CommandIo } from "../../command.ts";
import { describeSaid, formatPromptPrice } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { readPromptFile, runAsAuthor } from "./author-files.ts";
import { runOnServerOrLocally } from "./own-prompts.ts";

/** The part that a check by the server and a local check have in common. */
type Validation = Pick<PromptFileCheck, "message"> & {
  readonly prompts: readonly Pick<
    PromptFileCheck["prompts"][number],
    "title" | "config" | "price" | "warnings" | "notes"
  >[];
  readonly faults: readonly unknown[];
};

interface CheckedFile {
  readonly file: string;
  readonly validation: Validation;
}

export const promptCheck: Command = {
  summary: "Check prompt files without publishing them; needs no database",
  usage: "FILE…",
  details: `Reports everything that publishing would report: errors with line and column, warnings, and the price of a run. The exit code is 1 when a file has an error. With a management token, the server checks the files, because it knows its own models. Without one, or with --here, this program's catalogue is used.`,
  session: `$ promptd prompt check tea.prompt.md
tea.prompt.md is fine: Tea poem (openai/gpt-5.4-mini; about 2 credits, at most 8)`,
  options: { here: { type: "boolean", summary: "do not ask a server" } },
  run: async (args, io) => {
    const read = await Promise.all(args.positionals.map((name) => readPromptFile(name, io)));
    const files = read.flatMap((file) => ("why" in file ? [] : [file]));
    const checked = await runOnServerOrLocally(args, io, {
      onServer: (manage) => checkThere(manage, files, io),
      locally: () => checkHere(files, io),
    });
    const unread = read.filter((file) => "why" in file);
    if (checked.length === 0) throw new CommandFailure(unread.map(({ why }) => why).join("\n"));
    for (const { why } of unread) io.note(why);
    noteWarnings(checked, io);
    const documents = checked.map(({ file, validation }) => ({ file, ...validation }));
    io.result(documents, checked.map(describeFile).join("\n"));
    return unread.length === 0 && checked.every(({ validation }) => validation.faults.length === 0) ? 0 : 1;
  },
};

function checkHere(files: readonly PromptFile[], io: CommandIo): Promise<CheckedFile[]> {
  return runAsAuthor(io, (authoring) => files.map((file) => ({ file: file.name, validation: authoring.check(file) })));
}

/** Checks on the server, which knows its own models and what it would reject. */
async function checkThere(manage: ManageClient, files: readonly PromptFile[], io: CommandIo): Promise<CheckedFile[]> {
  const checked: CheckedFile[] = [];
  for (const { name, text } of files) {
    const validation = await manage.send("checkPromptFile", { body: { source: text }, signal: io.signal });
    checked.push({ file: name, validation });
  }
  return checked;
}

function describeFile({ file, validation }: CheckedFile): string {
  const name = printableLine(file);
  if (validation.faults.length > 0) return `${name} has errors:\n${validation.message.replace(/^/gm, "  ")}`;
  return validation.prompts
    .map(
      ({ title, config, price }) =>
        `${name} is fine: ${printableLine(title)} (${config.model}; ${formatPromptPrice(price)})`,
    )
    .join("\n");
}

function noteWarnings(checked: readonly CheckedFile[], io: CommandIo): void {
  for (const kind of ["warnings", "notes"] as const) {
    const said = checked.flatMap(({ file, validation }) =>
      validation.prompts.flatMap((prompt) => prompt[kind].map((text) => ({ file, text }))),
    );
    for (const line of describeSaid(kind.slice(0, -1), said)) io.note(line);
  }
}
