import { orderedInputs, type PromptVersion } from "@promptd/contract";
import { describeField, describeOption, describePrice } from "@promptd/mcp/describe";
import type { Command } from "../command.ts";
import { exampleCommand } from "../runs/example-command.ts";
import { findVersion } from "../runs/find-version.ts";
import { formatTable, sandboxMark } from "../output.ts";
import { printableLine } from "../printable.ts";
import { withSession } from "../session.ts";

export const show: Command = {
  summary: "Show a prompt: its inputs, its options, and how to run it",
  usage: "<slug[@label]|promptId|promptVersionId>",
  details: "A slug or a prompt id shows the latest published version.",
  session: `$ promptd show cat-poem
Cat poem

prompt     01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33
version    01a19b45-b800-7a3e-8b1d-0c6f5e2a9b77
published  2026-11-02T08:00:00.000Z
model      openai/gpt-5.4-mini (text)
price      about 2 credits; 8 must be available

Text inputs:
  topic  required
  tone   default "calm"; one of: calm, loud

Run it:
  promptd run cat-poem topic=…`,
  options: {},
  async run(args, io) {
    const [id = ""] = args.positionals;
    const version = await withSession(io, ({ client }) => findVersion(client, id, io.signal));
    io.result(version, formatVersion(version, id));
  },
};

function formatVersion(version: PromptVersion, name: string): string {
  const { config } = version;
  const facts = formatTable([
    ["prompt", version.promptId],
    ["version", version.promptVersionId],
    ["published", version.publishedAt],
    [
      "model",
      `${config.model} (${[config.modality, sandboxMark(config.model)].filter((word) => word !== null).join("; ")})`,
    ],
    ["price", describePrice(config)],
  ]);
  return [
    printableLine(version.title),
    facts,
    section(
      "Text inputs",
      orderedInputs(config).map(([key, field]) => [printableLine(key), describeField(key, field)]),
    ),
    section(
      "Images",
      config.imageInputs.map((slot) => [`${slot.position + 1}`, ...[slot.label, slot.description].map(printableLine)]),
    ),
    section(
      "Options",
      Object.entries(config.runOptions).map(([key, option]) => [key, describeOption(option)]),
    ),
    `Run it:\n  ${exampleCommand(name, config)}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function section(title: string, rows: readonly string[][]): string {
  return rows.length === 0
    ? ""
    : `${title}:\n${formatTable(rows.map(([first = "", ...rest]) => [`  ${first}`, ...rest]))}`;
}
