import type { PromptConfig, PromptVersion, TextInputField } from "@promptd/contract";
import type { Command } from "../command.ts";
import { findVersion } from "../runs/find-version.ts";
import { formatCredits, formatTable, sandboxMark } from "../output.ts";
import { printableLine } from "../printable.ts";
import { withSession } from "../session.ts";

export const show: Command = {
  summary: "Show a prompt: its inputs, options and how to run it",
  usage: "<promptId|promptVersionId>",
  details: "A prompt id shows the latest published version.",
  options: {},
  positionals: { min: 1, max: 1 },
  async run(args, io) {
    const [id = ""] = args.positionals;
    const version = await withSession(io, ({ client }) => findVersion(client, id, io.signal));
    io.result(version, formatVersion(version));
  },
};

function formatVersion(version: PromptVersion): string {
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
    `Run it:\n  ${exampleCommand(version.promptVersionId, fields, config)}`,
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
    .map(([key, field]) => `--input ${quoteForShell(`${key}=${field.options?.[0] ?? "…"}`)}`);
  const images = config.imageInputs.map((slot) => `--image ${quoteForShell(`${printableLine(slot.label)}.jpg`)}`);
  return ["promptd run", id, ...inputs, ...images].join(" ");
}

/** Single quotes protect everything but themselves. */
function quoteForShell(word: string): string {
  return /^[A-Za-z0-9_./=-]+$/.test(word) ? word : `'${printableLine(word).replaceAll("'", `'\\''`)}'`;
}
