import type { ModelEntry } from "@promptd/contract";
import { refreshCatalogue } from "../catalogue-cache.ts";
import type { Command } from "../command.ts";
import { formatTable } from "../output.ts";
import { printableLine } from "../printable.ts";
import { withSession } from "../session.ts";

export const models: Command = {
  summary: "List the models of the server and their run options",
  usage: "",
  details: `The list is cached in the user's configuration folder. Its hash goes along with every command, and the list is
read again when the server says that it changed.`,
  options: {},
  async run(_args, io) {
    const resources = await withSession(io, ({ client, baseUrl }) => refreshCatalogue(client, io, baseUrl));
    const entries = resources.resources.models;
    const header = ["MODEL", "MODALITY", "OPTIONS"];
    io.result(resources, entries.length === 0 ? "No models." : formatTable([header, ...entries.map(formatEntry)]));
  },
};

function formatEntry(entry: ModelEntry): string[] {
  const options = entry.availableRunOptions.map(({ key, options: values }) => `${key}=${values.join("|")}`);
  return [entry.model, entry.modality, options.join(" ")].map(printableLine);
}
