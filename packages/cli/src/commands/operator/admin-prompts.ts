import type { PromptFile } from "@promptd/server/authoring";
import type { PublishReport } from "@promptd/server/operator";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, type Command, type CommandIo } from "../../command.ts";
import { describeWriteFailure } from "../../file-failure.ts";
import { readPromptFile } from "../prompt/author-files.ts";
import { withPromptId } from "../prompt/prompt-id-line.ts";
import { requireText, runAsOperator } from "./run-operator.ts";

export const promptPublish: Command = {
  summary: "Publish prompt files, or new versions of prompts the author has",
  usage: "FILE…",
  details: `Takes *.prompt.md files and JSON catalogues, in order. Each file is published whole or not at all: a file with a fault is left out and named on stderr, the others are published, and the exit code is 1. A file that says what the latest version of its prompt says makes no new version.`,
  session: `$ promptd admin prompt publish tea.prompt.md --author ada@example.org
01a19b45-b800-7a3e-8b1d-0c6f5e2a9b77  tea-note  Tea note
Published 1.`,
  options: {
    author: { type: "string", value: "EMAIL|USERID", isRequired: true, summary: "Whose prompts" },
    "sample-from": {
      type: "string",
      value: "RUNID",
      summary: "Write the inputs and texts of this run of the author into the file as its sample",
    },
    "write-id": {
      type: "boolean",
      summary: "Write the promptId into files that have none, so that a title may change",
    },
  },
  positionals: { min: 1, max: Number.POSITIVE_INFINITY },
  run: async (args, io) => {
    const author = requireText(args.text("author"), "--author", "ada@example.org");
    const read = await Promise.all(args.positionals.map((name) => readPromptFile(name, io)));
    const files = read.flatMap((file) => ("why" in file ? [] : [file]));
    const unread = read.flatMap((file) =>
      "why" in file ? [`${file.name} was not published:\n${file.why.replace(/^/gm, "  ")}`] : [],
    );
    if (files.length === 0) throw new CommandFailure(unread.join("\n"));
    const runId = args.text("sample-from");
    if (runId !== undefined && read.length > 1) throw new CommandFailure("--sample-from goes with one file.");
    const { report, sampled } = await runAsOperator(io, async (operator) => {
      const [file] = files;
      const made =
        runId === undefined || file === undefined ? null : await operator.prompts.addSample(file, runId, author);
      return { sampled: made, report: await operator.prompts.publish(made === null ? files : [made], author) };
    });
    const { published, warnings } = report;
    const faults = [...unread, ...report.faults];
    for (const note of describeWarnings(warnings)) io.note(note);
    if (faults.length === read.length) throw new CommandFailure(faults.join("\n"));
    for (const fault of faults) io.note(fault);
    if (sampled !== null) await writeText(sampled, io);
    if (args.flag("write-id")) await writeIds(sampled === null ? files : [sampled], published, io);
    io.result(published, describePublished(published));
    return faults.length === 0 ? 0 : 1;
  },
};

/** Unchanged prompts are counted only: a folder of thousands has mostly those. */
function describePublished(published: PublishReport["published"]): string {
  const made = published.filter(({ outcome }) => outcome !== "unchanged");
  const lines = made.map((prompt) => `${prompt.promptVersionId}  ${prompt.slug}  ${prompt.title}`);
  const unchanged = published.length - made.length;
  return [...lines, `Published ${made.length}.${unchanged === 0 ? "" : ` Unchanged: ${unchanged}.`}`].join("\n");
}

/** A file of several prompts stays as it is: which id belongs where is the author's to say. */
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

/** One line for each thing to know: thousands of prompts often share one habit. */
function describeWarnings(warnings: PublishReport["warnings"]): string[] {
  return [...Map.groupBy(warnings, (warning) => warning.text)].map(([text, [first, ...others]]) => {
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    return `warning: ${first?.file} (${first?.title})${more}: ${text}`;
  });
}

export const promptUnpublish: Command = {
  summary: "Take a prompt out of the marketplace; it can no longer be found or run",
  usage: "<promptId>",
  session: `$ promptd admin prompt unpublish 01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33
01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33 is unpublished.`,
  options: {},
  positionals: { min: 1, max: 1 },
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
  positionals: { min: 1, max: 1 },
  run: async (args, io) => {
    const result = await runAsOperator(io, (operator) => operator.prompts.republish(args.positionals[0] ?? ""));
    io.result(result, `${result.promptId} is published.`);
  },
};
