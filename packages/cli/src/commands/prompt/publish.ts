import { PromptdError } from "@promptd/client";
import type { ManageClient } from "@promptd/client/manage";
import type { PromptPublication } from "@promptd/contract/manage";
import { CommandFailure, type Command, type CommandArgs, type CommandIo } from "../../command.ts";
import { explainError } from "../../explain-error.ts";
import { describeSaid } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { promptPublish as publishHere } from "../operator/admin-prompts.ts";
import { readPromptFile } from "./author-files.ts";
import { noTokenFailure, WHERE, runOnServerOrLocally } from "./own-prompts.ts";
import { writeId } from "./push.ts";

export const promptPublish: Command = {
  ...publishHere,
  details: `${publishHere.details ?? ""}
${WHERE}`,
  session: `$ promptd prompt publish tea.prompt.md --note "Calmer"
changed  v3  tea-poem  Tea poem
Published 1.`,
  options: {
    ...publishHere.options,
    author: { type: "string", value: "EMAIL|USERID", summary: "the author's account, in the database on this machine" },
    "sample-from": {
      type: "string",
      value: "RUNID",
      summary: "use this run of yours as the prompt's sample; with --author: write its inputs and texts into the file",
    },
    note: { type: "string", value: "TEXT", summary: "what changed; callers see it with the version" },
  },
  run: (args, io) =>
    runOnServerOrLocally<number | void>(args, io, {
      onServer: (manage) => publishThere(manage, args, io),
      locally: async () => {
        if ((args.text("author") ?? "").trim() === "") throw noTokenFailure("--author is not given");
        if (args.text("note") !== undefined)
          throw new CommandFailure("--note requires a management token: promptd login");
        return publishHere.run(args, io);
      },
    }),
};

const ONE_FILE = "--sample-from requires exactly one file with one prompt.";

interface SampleRequest {
  readonly published: readonly Published[];
  readonly runId: string;
  readonly io: CommandIo;
}

/** @returns why the sample was not set. What was published is still reported. */
async function takeSample(manage: ManageClient, { published, runId, io }: SampleRequest): Promise<string[]> {
  const [prompt, ...others] = published;
  if (prompt === undefined) return [];
  if (others.length > 0) return [`The sample was not set: ${ONE_FILE}`];
  const sample = { params: { promptId: prompt.promptId }, body: { runId }, signal: io.signal };
  try {
    await manage.send("setPromptSample", sample);
    return [];
  } catch (error) {
    io.signal.throwIfAborted();
    const explained = explainError(error);
    if (explained === null) throw error;
    return [
      `The sample was not set: ${explained.message}${
        explained.hint === null
          ? ""
          : `
${explained.hint}`
      }`,
    ];
  }
}

type Published = PromptPublication & { readonly file: string };

async function publishThere(manage: ManageClient, args: CommandArgs, io: CommandIo): Promise<number> {
  const sampleRun = args.text("sample-from");
  if (sampleRun !== undefined && args.positionals.length > 1) throw new CommandFailure(ONE_FILE);
  const read = await Promise.all(args.positionals.map((name) => readPromptFile(name, io)));
  const failures = read.flatMap((file) => ("why" in file ? [file.why] : []));
  const published: Published[] = [];
  for (const file of read) {
    if ("why" in file) continue;
    try {
      const body = { source: file.text, note: args.text("note") };
      const { published: rows } = await manage.send("publishPromptFile", { body, signal: io.signal });
      published.push(...rows.map((row) => ({ ...row, file: file.name })));
      const [only, ...others] = rows;
      if (args.flag("write-id") && only !== undefined && others.length === 0) await writeId(file, only.promptId, io);
    } catch (error) {
      if (!(error instanceof PromptdError) || error.code !== "VALIDATION_ERROR") throw error;
      // The message joins all issues in one line and truncates them.
      const faults = error.issues.length === 0 ? [error.message] : error.issues.map(({ message }) => message);
      failures.push(`${file.name} was not published:\n${faults.join("\n").replace(/^/gm, "  ")}`);
    }
  }
  if (sampleRun !== undefined) failures.push(...(await takeSample(manage, { published, runId: sampleRun, io })));
  if (published.length === 0) throw new CommandFailure(failures.join("\n"));
  for (const failure of failures) io.note(failure);
  const warned = published.flatMap(({ file, warnings }) => warnings.map((text) => ({ file, text })));
  for (const line of describeSaid("warning", warned)) io.note(line);
  const made = published.filter(({ outcome }) => outcome !== "unchanged");
  const lines = made.map((one) => `${one.outcome}  v${one.version}  ${one.slug}  ${printableLine(one.title)}`);
  const unchanged = published.length - made.length;
  const sum = `Published ${made.length}.${unchanged === 0 ? "" : ` Unchanged: ${unchanged}.`}`;
  io.result(published, [...lines, sum].join("\n"));
  return failures.length === 0 ? 0 : 1;
}
