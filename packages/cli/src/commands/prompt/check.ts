import type { Command, CommandIo } from "../../command.ts";
import { CommandFailure } from "../../command.ts";
import { formatPromptPrice } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { readPromptFile, runAsAuthor, type Authoring } from "./author-files.ts";

type Validation = ReturnType<Authoring["check"]>;

interface CheckedFile {
  readonly file: string;
  readonly validation: Validation;
}

export const promptCheck: Command = {
  summary: "Check prompt files without publishing them; no database is needed",
  usage: "FILE…",
  details: `Says everything that publishing would say: faults with line and column, warnings, and the price of a run. The exit
code is 1 when a file has a fault. Models that only a running server knows, such as those of Ollama, are unknown here.`,
  options: {},
  positionals: { min: 1, max: Number.POSITIVE_INFINITY },
  run: async (args, io) => {
    const read = await Promise.all(args.positionals.map((name) => readPromptFile(name, io)));
    const checked = await runAsAuthor(io, (authoring) =>
      read.flatMap((file) => ("why" in file ? [] : [{ file: file.name, validation: authoring.check(file) }])),
    );
    const unread = read.filter((file) => "why" in file);
    if (checked.length === 0) throw new CommandFailure(unread.map(({ why }) => why).join("\n"));
    for (const { why } of unread) io.note(why);
    noteWarnings(checked, io);
    const documents = checked.map(({ file, validation }) => ({ file, ...validation }));
    io.result(documents, checked.map(describeFile).join("\n"));
    return unread.length === 0 && checked.every(({ validation }) => validation.faults.length === 0) ? 0 : 1;
  },
};

function describeFile({ file, validation }: CheckedFile): string {
  const name = printableLine(file);
  if (validation.faults.length > 0) return `${name} has faults:\n${validation.message.replace(/^/gm, "  ")}`;
  return validation.prompts
    .map(
      ({ title, config, price }) =>
        `${name} is fine: ${printableLine(title)} (${config.model}; ${formatPromptPrice(price)})`,
    )
    .join("\n");
}

/** One line for each thing to know: many files often share one habit. */
function noteWarnings(checked: readonly CheckedFile[], io: CommandIo): void {
  const all = checked.flatMap(({ file, validation }) =>
    validation.prompts.flatMap((prompt) => prompt.warnings.map((text) => ({ file, text }))),
  );
  for (const [text, [first, ...others]] of Map.groupBy(all, (warning) => warning.text)) {
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    io.note(`warning: ${printableLine(first?.file ?? "")}${more}: ${text}`);
  }
}
