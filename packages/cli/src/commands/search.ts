import { countOf } from "@promptd/contract";
import type { SearchRow } from "@promptd/contract";
import { CommandFailure, type Command } from "../command.ts";
import { formatCredits, sandboxMark } from "../output.ts";
import { printableLine } from "../printable.ts";
import { withSession } from "../session.ts";

export const search: Command = {
  summary: "Search the published prompts",
  usage: "<words…>",
  session: `$ promptd search cat poem
Cat poem (text, 2 credits, 340 runs)
  A short poem about anything, as a cat would write it.
  promptd show cat-poem`,
  options: {},
  async run(args, io) {
    const words = args.positionals.join(" ").trim();
    if (words === "")
      throw new CommandFailure("No words to search for were given.", { hint: "Example: promptd search cat poem" });
    const { rows } = await withSession(io, ({ client }) => client.prompts.search(words, { signal: io.signal }));
    io.result({ rows }, rows.length === 0 ? "No prompts found." : rows.map(formatRow).join("\n\n"));
  },
};

function formatRow(row: SearchRow): string {
  const { modality, model } = row.configs;
  const words = [modality, sandboxMark(model), formatCredits(row.estimatedCredits), countOf(row.uses, "run")];
  const facts = words.filter((word) => word !== null).join(", ");
  const description = printableLine(row.description);
  return [
    `${printableLine(row.title)} (${facts})`,
    ...(description === "" ? [] : [`  ${description}`]),
    `  promptd show ${row.slug}`,
  ].join("\n");
}
