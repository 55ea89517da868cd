import { makeFolder } from "@promptd/server/make-folder";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { ManageClient } from "@promptd/client/manage";
import { CommandFailure, type Command, type CommandArgs, type CommandIo } from "../../command.ts";
import { describeWriteFailure } from "../../files/file-failure.ts";
import { formatCredits, formatTable } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { AUTHOR_OPTION, findOwn, listAll, WHERE, runOnServerOrLocally, workOnDatabase } from "./own-prompts.ts";
import { fileOf, type StoredFile } from "./prompt-id-line.ts";

export const promptList: Command = {
  summary: "List your prompts with their versions",
  usage: "",
  details: WHERE,
  session: `$ promptd prompt list
PROMPT                                SLUG      STATE      VERSIONS  LABELS        RUNS  TITLE
01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33  tea-poem  published  3         production=2  12    Tea poem`,
  options: AUTHOR_OPTION,
  run: (args, io) =>
    runOnServerOrLocally(args, io, { onServer: (manage) => listThere(manage, io), locally: () => listHere(args, io) }),
};

async function listHere(args: CommandArgs, io: CommandIo): Promise<void> {
  const prompts = await workOnDatabase(args, io, (operator, author) => operator.prompts.list(author));
  const rows = prompts.map((prompt) => [
    prompt.promptId,
    prompt.slug,
    `v${prompt.versions}${prompt.isPublished ? "" : " (unpublished)"}`,
    prompt.model,
    formatCredits(prompt.estimatedCredits),
    printableLine(prompt.title),
  ]);
  const header = ["PROMPT", "SLUG", "VERSIONS", "MODEL", "ABOUT", "TITLE"];
  io.result(prompts, rows.length === 0 ? "No prompts." : formatTable([header, ...rows]));
}

/** Includes drafts, which have no version yet. */
async function listThere(manage: ManageClient, io: CommandIo): Promise<void> {
  const prompts = await listAll(manage, io);
  const rows = prompts.map((prompt) => [
    prompt.promptId,
    prompt.slug ?? "-",
    prompt.draft === null || prompt.state === "draft" ? prompt.state : `${prompt.state}, draft`,
    String(prompt.versions),
    prompt.labels.map(({ label, version }) => `${label}=${version}`).join(" ") || "-",
    String(prompt.last30Days.runs),
    printableLine(prompt.title),
  ]);
  const header = ["PROMPT", "SLUG", "STATE", "VERSIONS", "LABELS", "RUNS", "TITLE"];
  io.result(prompts, rows.length === 0 ? "No prompts." : formatTable([header, ...rows]));
}

export const promptPull: Command = {
  summary: "Write a prompt's file",
  usage: "<promptId|slug>",
  details: `The file is the latest version, so publishing it changes nothing. On a server, it is your draft if there is one. Without --out, it goes to stdout.
${WHERE}`,
  session: `$ promptd prompt pull tea-poem --out prompts
Wrote prompts/tea-poem.prompt.md.`,
  options: {
    ...AUTHOR_OPTION,
    out: { type: "string", value: "DIR|FILE", summary: "where to write it; in a folder, the file is SLUG.prompt.md" },
    force: { type: "boolean", summary: "overwrite a file with different contents" },
  },
  run: async (args, io) => {
    const [name = ""] = args.positionals;
    const stored = await runOnServerOrLocally<StoredFile>(args, io, {
      onServer: (manage) => findOwn(manage, name, io),
      locally: () => workOnDatabase(args, io, (operator, author) => operator.prompts.pull(name, author)),
    });
    const pulled = fileOf(stored);
    const out = args.text("out");
    if (out === undefined) return io.result(pulled, pulled.text.trimEnd());
    const file = /\.(md|json|ya?ml)$/.test(out) ? out : join(out, pulled.name);
    const path = resolve(io.directory, file);
    if (!args.flag("force")) await refuseToOverwrite(path, file, pulled.text);
    try {
      await makeFolder(dirname(path));
      await writeFile(path, pulled.text);
    } catch (error) {
      throw new CommandFailure(describeWriteFailure(file, error), { cause: error });
    }
    io.result({ ...pulled, file }, `Wrote ${printableLine(file)}.`);
  },
};

/** Refuses to overwrite an author's changes, which may be saved nowhere else. */
async function refuseToOverwrite(path: string, file: string, text: string): Promise<void> {
  const there = await readFile(path, "utf8").catch(() => null); // an unreadable file is overwritten or rejected below
  if (there === null || there === text) return;
  throw new CommandFailure(`${printableLine(file)} has different contents and was not overwritten.`, {
    hint: "Overwrite it with --force, or pull to another file with --out.",
  });
}
