import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { CommandFailure, type Command } from "../../command.ts";
import { describeWriteFailure } from "../../file-failure.ts";
import { formatCredits, formatTable } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { runAsOperator } from "../operator/run-operator.ts";
import { AUTHOR_OPTION, authorOf } from "./author-files.ts";

export const promptList: Command = {
  summary: "List published prompts with their versions",
  usage: "",
  options: AUTHOR_OPTION,
  run: async (args, io) => {
    const prompts = await runAsOperator(io, (operator) => operator.prompts.list(authorOf(args)));
    if (prompts.length === 0) return io.result(prompts, "No prompts.");
    const rows = prompts.map((prompt) => [
      prompt.promptId,
      prompt.slug,
      `v${prompt.versions}${prompt.isPublished ? "" : " (unpublished)"}`,
      prompt.model,
      formatCredits(prompt.estimatedCredits),
      printableLine(prompt.title),
    ]);
    io.result(prompts, formatTable([["PROMPT", "SLUG", "VERSIONS", "MODEL", "ABOUT", "TITLE"], ...rows]));
  },
};

export const promptPull: Command = {
  summary: "Write the file of a published prompt",
  usage: "<promptId|slug>",
  details: `The file publishes the latest version again, unchanged. Without --out it goes to stdout.`,
  options: {
    ...AUTHOR_OPTION,
    out: { type: "string", value: "DIR|FILE", summary: "write it there; a folder gets SLUG.prompt.md" },
  },
  positionals: { min: 1, max: 1 },
  run: async (args, io) => {
    const pulled = await runAsOperator(io, (operator) =>
      operator.prompts.pull(args.positionals[0] ?? "", authorOf(args)),
    );
    const out = args.text("out");
    if (out === undefined) return io.result(pulled, pulled.text.trimEnd());
    const file = /\.(md|json|ya?ml)$/.test(out) ? out : join(out, pulled.name);
    const path = resolve(io.directory, file);
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, pulled.text);
    } catch (error) {
      throw new CommandFailure(describeWriteFailure(file, error), { cause: error });
    }
    io.result({ ...pulled, file }, `Wrote ${printableLine(file)}.`);
  },
};
