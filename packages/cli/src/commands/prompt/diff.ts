import type { ManageClient } from "@promptd/client/manage";
import type { LineChange } from "@promptd/contract/manage";
import type { PromptDiff, PromptFile } from "@promptd/server/authoring";
import { CommandFailure, type Command, type CommandArgs, type CommandIo } from "../../command.ts";
import { formatPromptPrice } from "../../output.ts";
import { printable, printableLine } from "../../printable.ts";
import { requirePromptFile, runAsAuthor } from "./author-files.ts";
import { AUTHOR_OPTION, WHERE, runOnServerOrLocally, workOnDatabase } from "./own-prompts.ts";

export const promptDiff: Command = {
  summary: "Compare a prompt file with the published version or with another file",
  usage: "FILE [FILE]",
  details: `With one file, the command compares it with the latest version of the prompt that it would change, found by id, or else by slug. With two files, it compares them with each other and needs neither a server nor a database. The exit code is 0 whether or not they differ.
${WHERE}`,
  session: `$ promptd prompt diff tea.prompt.md
inputs.tone.default: "calm" -> "bright"
price: about 2 credits, at most 8`,
  options: AUTHOR_OPTION,
  run: async (args, io) => {
    const diff = await readDiff(args, io);
    if (diff === null) io.result(null, "Nothing is published under this file's id or slug: it would be a new prompt.");
    else io.result(diff, formatDiff(diff));
  },
};

async function readDiff(args: CommandArgs, io: CommandIo): Promise<PromptDiff | null> {
  const [first = "", second] = args.positionals;
  const file = await requirePromptFile(first, io);
  if (second === undefined) {
    return runOnServerOrLocally(args, io, {
      onServer: (manage) => diffThere(manage, file, io),
      locally: () => workOnDatabase(args, io, (operator, author) => operator.prompts.diff(file, author)),
    });
  }
  const other = await requirePromptFile(second, io);
  return runAsAuthor(io, (authoring) => authoring.diff(file, other));
}

/** Fetches the latest version from the server and compares the files locally. */
async function diffThere(manage: ManageClient, file: PromptFile, io: CommandIo): Promise<PromptDiff | null> {
  const { signal } = io;
  const { prompts, message } = await manage.send("checkPromptFile", { body: { source: file.text }, signal });
  const [checked] = prompts;
  if (checked === undefined) throw new CommandFailure(`${file.name} has errors:\n${message.replace(/^/gm, "  ")}`);
  if (checked.promptId === null) return null;
  const own = await manage.send("getPrompt", { params: { promptId: checked.promptId }, signal });
  if (own.latest === null) return null;
  const params = { promptId: own.promptId, promptVersionId: own.latest.promptVersionId };
  const published = await manage.send("getVersion", { params, signal });
  const before = { name: `version ${published.version}`, text: published.source };
  return runAsAuthor(io, (authoring) => authoring.diff(before, file));
}

const LINES_AROUND = 3;

function formatDiff(diff: PromptDiff): string {
  if (diff.isSame) return "No differences.";
  const fields = [...diff.fields, ...diff.inputs, ...diff.options].map(
    ({ field, before, after }) => `${printableLine(field)}: ${show(before)} -> ${show(after)}`,
  );
  const texts = diff.texts.map(({ field, lines }) => `${field}:\n${formatLines(lines)}`);
  return [...fields, ...texts, formatPrice(diff)].join("\n");
}

function show(value: unknown): string {
  return value === null ? "nothing" : printableLine(JSON.stringify(value));
}

/** Shows changed lines with three lines of context. */
function formatLines(lines: readonly LineChange[]): string {
  const isNear = (at: number) =>
    lines.slice(Math.max(0, at - LINES_AROUND), at + LINES_AROUND + 1).some(({ kind }) => kind !== "same");
  const signs = { same: " ", removed: "-", added: "+" } as const;
  return lines
    .flatMap(({ kind, text }, at) => {
      if (isNear(at)) return [`  ${signs[kind]} ${printable(text)}`];
      return isNear(at - 1) ? ["  …"] : [];
    })
    .join("\n");
}

function formatPrice({ price: { before, after } }: PromptDiff): string {
  const shown = (price: PromptDiff["price"]["before"]) => (price === null ? "unknown" : formatPromptPrice(price));
  return shown(before) === shown(after) ? `price: ${shown(after)}` : `price: ${shown(before)} -> ${shown(after)}`;
}
