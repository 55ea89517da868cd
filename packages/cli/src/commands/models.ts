import type { ModelEntry } from "@promptd/contract";
import { refreshCatalogue } from "../catalogue-cache.ts";
import type { Command } from "../command.ts";
import { formatTable } from "../output.ts";
import { printableLine } from "../printable.ts";
import { withSession } from "../session.ts";

export const models: Command = {
  summary: "List the models of the server and their run options",
  usage: "",
  details: `The list is cached in your configuration folder. Every command sends its hash, and the list is fetched again when the server says that it has changed.`,
  session: `$ promptd models
MODEL                MODALITY  OPTIONS
openai/gpt-5.4-mini  text      reasoningEffort=low|medium|high
sandbox/text         text`,
  options: {},
  async run(_args, io) {
    const resources = await withSession(io, ({ client, baseUrl }) => refreshCatalogue(client, io, baseUrl));
    const entries = resources.resources.models;
    const header = ["MODEL", "MODALITY", "OPTIONS"];
    const table = entries.length === 0 ? "No models." : formatTable([header, ...entries.map(formatEntry)]);
    io.result(resources, entries.some(isFound) ? `${table}\n\n${FOUND_NOTE}` : table);
  },
};

const FOUND_NOTE = `Each compatible/… and local/… model runs as many requests at once as its server accepts, at most 64.
Set PROMPTD_COMPATIBLE_CONCURRENCY on the server to change that.`;

function isFound({ model }: ModelEntry): boolean {
  return model.startsWith("compatible/") || model.startsWith("local/");
}

function formatEntry(entry: ModelEntry): string[] {
  const options = entry.availableRunOptions.map(({ key, options: values }) => `${key}=${values.join("|")}`);
  return [entry.model, entry.modality, options.join(" ")].map(printableLine);
}
