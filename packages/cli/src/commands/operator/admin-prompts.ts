import type { PromptFile, PublishReport } from "@promptd/server/operator";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, type Command, type CommandIo } from "../../command.ts";
import { describeReadFailure } from "../../file-failure.ts";
import { requireText, runAsOperator } from "./run-operator.ts";

export const promptPublish: Command = {
  summary: "Publish prompt files, or new versions of prompts the author has",
  usage: "FILE…",
  details: `Takes *.prompt.md files and JSON catalogues, in order. Each file is published whole or not at all: a file with a
fault is left out and named on stderr, the others are published, and the exit code is 1.`,
  options: { author: { type: "string", value: "EMAIL|USERID", summary: "Whose prompts (required)" } },
  positionals: { min: 1, max: Number.POSITIVE_INFINITY },
  run: async (args, io) => {
    const author = requireText(args.text("author"), "--author", "ada@example.org");
    const read = await Promise.all(args.positionals.map((name) => readPromptFile(name, io)));
    const files = read.filter((file) => typeof file !== "string");
    const unread = read.filter((file) => typeof file === "string");
    if (files.length === 0) throw new CommandFailure(unread.join("\n"));
    const report = await runAsOperator(io, (operator) => operator.publishPrompts(files, author));
    const { published, warnings } = report;
    const faults = [...unread, ...report.faults];
    for (const note of describeWarnings(warnings)) io.note(note);
    if (faults.length === read.length) throw new CommandFailure(faults.join("\n"));
    for (const fault of faults) io.note(fault);
    const lines = published.map((prompt) => `${prompt.promptVersionId}  ${prompt.slug}  ${prompt.title}`);
    io.result(published, [...lines, `Published ${published.length}.`].join("\n"));
    return faults.length === 0 ? 0 : 1;
  },
};

/** One line for each thing to know: thousands of prompts often share one habit. */
function describeWarnings(warnings: PublishReport["warnings"]): string[] {
  return [...Map.groupBy(warnings, (warning) => warning.text)].map(([text, [first, ...others]]) => {
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    return `warning: ${first?.file} (${first?.title})${more}: ${text}`;
  });
}

/** The text of a file; or, as a string, why it was not published, in the form in which the others' faults come. */
async function readPromptFile(name: string, io: CommandIo): Promise<PromptFile | string> {
  try {
    const bytes = await readFile(resolve(io.directory, name));
    return { name, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    const isOtherText = error instanceof TypeError;
    const why = isOtherText
      ? `${name} is not UTF-8 text. Save it as UTF-8.`
      : describeReadFailure(name, error, "name the *.prompt.md files in it");
    return `${name} was not published:\n  ${why}`;
  }
}

export const promptUnpublish: Command = {
  summary: "Take a prompt out of the marketplace; it can no longer be found or run",
  usage: "<promptId>",
  options: {},
  positionals: { min: 1, max: 1 },
  run: async (args, io) => {
    const result = await runAsOperator(io, (operator) => operator.unpublishPrompt(args.positionals[0] ?? ""));
    io.result(result, `${result.promptId} is unpublished.`);
  },
};

export const promptRepublish: Command = {
  summary: "Put an unpublished prompt back into the marketplace",
  usage: "<promptId>",
  options: {},
  positionals: { min: 1, max: 1 },
  run: async (args, io) => {
    const result = await runAsOperator(io, (operator) => operator.republishPrompt(args.positionals[0] ?? ""));
    io.result(result, `${result.promptId} is published.`);
  },
};
