import type { PromptConfig, PromptVersion, TextInputField } from "@promptd/contract";
import type { Command } from "../command.ts";
import { findVersion } from "../runs/find-version.ts";
import { formatCredits, formatTable, sandboxMark } from "../output.ts";
import { printableLine } from "../printable.ts";
import { withSession } from "../session.ts";

export const show: Command = {
  summary: "Show a prompt: its inputs, options and how to run it",
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
  positionals: { min: 1, max: 1 },
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
  const fields = Object.entries(config.textInputs).sort(([, a], [, b]) => a.position - b.position);
  return [
    printableLine(version.title),
    facts,
    section(
      "Text inputs",
      fields.map(([key, field]) => [printableLine(key), describeField(key, field)]),
    ),
    section(
      "Images",
      config.imageInputs.map((slot) => [`${slot.position + 1}`, printableLine(`${slot.label} ${slot.description}`)]),
    ),
    section(
      "Options",
      Object.entries(config.runOptions).map(([key, option]) => [key, describeOption(option)]),
    ),
    `Run it:\n  ${exampleCommand(name, fields, config)}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function describePrice({ estimatedCredits, creditsRequired }: PromptConfig): string {
  if (creditsRequired === 0) return "free";
  const usual = formatCredits(estimatedCredits);
  return creditsRequired === estimatedCredits ? usual : `about ${usual}; ${creditsRequired} must be available`;
}

function section(title: string, rows: readonly string[][]): string {
  return rows.length === 0
    ? ""
    : `${title}:\n${formatTable(rows.map(([first = "", ...rest]) => [`  ${first}`, ...rest]))}`;
}

function describeField(key: string, field: TextInputField): string {
  const choices = field.options === null ? null : `one of: ${field.options.map(printableLine).join(", ")}`;
  const several =
    field.multiple === null ? null : `${field.multiple.min} to ${field.multiple.max} of them, joined by commas`;
  const facts = [
    field.required ? "required" : `default ${printableLine(JSON.stringify(field.default))}`,
    field.label === key ? null : printableLine(field.label),
    field.description === "" ? null : printableLine(field.description),
    choices,
    several,
    field.maxLength === null ? null : `at most ${field.maxLength} characters`,
  ];
  return facts.filter((fact) => fact !== null).join("; ");
}

function describeOption(option: PromptConfig["runOptions"][string]): string {
  const values = option.options.join(", ");
  return option.default === null ? values : `${values} (default ${option.default})`;
}

function exampleCommand(id: string, fields: readonly [string, TextInputField][], config: PromptConfig): string {
  const inputs = fields
    .filter(([, field]) => field.required)
    .map(([key, field]) => quoteForShell(`${key}=${field.options?.[0] ?? "…"}`));
  const images = config.imageInputs.map((slot) => `--image ${quoteForShell(`${printableLine(slot.label)}.jpg`)}`);
  return ["promptd run", id, ...inputs, ...images].join(" ");
}

/** Single quotes protect everything but themselves. */
function quoteForShell(word: string): string {
  return /^[A-Za-z0-9_./=-]+$/.test(word) ? word : `'${printableLine(word).replaceAll("'", `'\\''`)}'`;
}
