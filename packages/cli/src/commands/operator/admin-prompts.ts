import type { PromptFile } from "@promptd/server/authoring";
import type { PublishReport } from "@promptd/server/operator";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, type Command, type CommandIo } from "../../command.ts";
import { describeWriteFailure } from "../../files/file-failure.ts";
import { describeSaid } from "../../output.ts";
import { readPromptFile } from "../prompt/author-files.ts";
import { withPromptId } from "../prompt/prompt-id-line.ts";
import { runAsOperator } from "./run-operator.ts";

export const promptPublish: Command = {
  summary: "Publish prompt files as new prompts or new versions of the author's prompts",
  usage: "FILE…",
  details: `Accepts *.prompt.md files and JSON catalogues, in order. Each file is published completely or not at all. A file with an error is skipped and named on stderr, the others are published, and the exit code is 1. A file that is identical to the latest version of its prompt does not create a new version.`,
  session: `$ promptd admin prompt publish tea.prompt.md --author ada@example.org
01a19b45-b800-7a3e-8b1d-0c6f5e2a9b77  tea-note  Tea note
Published 1.`,
  options: {
    author: { type: "string", value: "EMAIL|USERID", isRequired: true, summary: "the author's account" },
    "sample-from": {
      type: "string",
      value: "RUNID",
      summary: "write the inputs and texts of this run by the author into the file as its sample",
    },
    "write-id": {
      type: "boolean",
      summary: "write the promptId into files that have none, so that their titles can change",
    },
  },
  run: async (args, io) => {
    const author = args.required("author");
    const read = await Promise.all(args.positionals.map((name) => readPromptFile(name, io)));
    const files = read.flatMap((file) => ("why" in file ? [] : [file]));
    const unread = read.flatMap((file) =>
      "why" in file ? [`${file.name} was not published:\n${file.why.replace(/^/gm, "  ")}`] : [],
    );
    if (files.length === 0) throw new CommandFailure(unread.join("\n"));
    const runId = args.text("sample-from");
    if (runId !== undefined && read.length > 1) throw new CommandFailure("--sample-from requires exactly one file.");
    const { report, sampled } = await runAsOperator(io, async (operator) => {
      const [file] = files;
      const made =
        runId === undefined || file === undefined ? null : await operator.prompts.addSample(file, runId, author);
      return { sampled: made, report: await operator.prompts.publish(made === null ? files : [made], author) };
    });
    const { published, warnings } = report;
    const faults = [...unread, ...report.faults];
    const warned = warnings.map(({ file, title, text }) => ({ file: `${file} (${title})`, text }));
    for (const line of describeSaid("warning", warned)) io.note(line);
    if (faults.length === read.length) throw new CommandFailure(faults.join("\n"));
    for (const fault of faults) io.note(fault);
    if (sampled !== null) await writeText(sampled, io);
    if (args.flag("write-id")) await writeIds(sampled === null ? files : [sampled], published, io);
    io.result(published, describePublished(published));
    return faults.length === 0 ? 0 : 1;
  },
};

/** Counts unchanged prompts without listing them: in a folder of thousands, most are unchanged. */
function describePublished(published: PublishReport["published"]): string {
  const made = published.filter(({ outcome }) => outcome !== "unchanged");
  const lines = made.map((prompt) => `${prompt.promptVersionId}  ${prompt.slug}  ${prompt.title}`);
  const unchanged = published.length - made.length;
  return [...lines, `Published ${made.length}.${unchanged === 0 ? "" : ` Unchanged: ${unchanged}.`}`].join("\n");
}

/** Leaves a file with several prompts as it is: only the author knows which id belongs where. */
async function writeIds(
  files: readonly PromptFile[],
  published: PublishReport["published"],
  io: CommandIo,
): Promise<void> {
  for (const { name, text } of files) {
    const [prompt, ...others] = published.filter(({ file }) => file === name);
    const changed = prompt === undefined || others.length > 0 ? null : withPromptId(text, prompt.promptId);
    if (changed !== null) await writeText({ name, text: changed }, io);
  }
}

async function writeText({ name, text }: PromptFile, io: CommandIo): Promise<void> {
  try {
    await writeFile(resolve(io.directory, name), text);
  } catch (error) {
    io.note(describeWriteFailure(name, error));
  }
}

export const promptUnpublish: Command = {
  summary: "Remove a prompt from the marketplace, so that it can no longer be found or run",
  usage: "<promptId>",
  session: `$ promptd admin prompt unpublish 01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33
01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33 is unpublished.`,
  options: {},
  run: async (args, io) => {
    const result = await runAsOperator(io, (operator) => operator.prompts.unpublish(args.positionals[0] ?? ""));
    io.result(result, `${result.promptId} is unpublished.`);
  },
};

export const promptRepublish: Command = {
  summary: "Put an unpublished prompt back into the marketplace",
  usage: "<promptId>",
  session: `$ promptd admin prompt republish 01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33
01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33 is published.`,
  options: {},
  run: async (args, io) => {
    const result = await runAsOperator(io, (operator) => operator.prompts.republish(args.positionals[0] ?? ""));
    io.result(result, `${result.promptId} is published.`);
  },
};
