import type { Client } from "@promptd/client";
import type { PromptSamples } from "@promptd/contract";
import { describeInputs, describePrice, findPrompt, oneLine, type ShownPrompt } from "@promptd/mcp/describe";
import { makeFolder } from "@promptd/server/make-folder";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CommandFailure, type Command, type CommandIo } from "../../command.ts";
import { describeWriteFailure } from "../../files/file-failure.ts";
import { printableLine } from "../../printable.ts";
import { exampleCommand } from "../../runs/example-command.ts";
import { orExplained } from "../../runs/find-version.ts";
import { withSession } from "../../session.ts";

export const skill: Command = {
  summary: "Write an agent skill that runs a prompt",
  usage: "<slug[@label]>",
  details: `The skill is a folder with a SKILL.md file for agents. It says what the prompt does, how to run it, which inputs it has (with types and limits), and what it costs. The agent needs the promptd command and an API key. Run this command again when the prompt has changed.`,
  session: `$ promptd skill cat-poem --out .claude/skills
Wrote .claude/skills/cat-poem/SKILL.md.`,
  options: { out: { type: "string", value: "DIR", summary: "the skills folder (default: the current folder)" } },
  async run(args, io) {
    const [name = ""] = args.positionals;
    const { prompt, samples } = await withSession(io, async ({ client }) => {
      const found = await orExplained({ client, name, signal: io.signal }, () => findPrompt(client, name, io.signal));
      return { prompt: found, samples: await findSamples(client, found, io.signal) };
    });
    const title = skillName(prompt.name);
    const file = join(args.text("out") ?? ".", title, "SKILL.md");
    const text = describeSkill(title, prompt, samples);
    await writeSkill(file, text, io);
    io.result({ file, skill: text }, `Wrote ${printableLine(file)}.`);
  },
};

async function writeSkill(file: string, text: string, io: CommandIo): Promise<void> {
  const path = resolve(io.directory, file);
  try {
    await makeFolder(join(path, ".."));
    await writeFile(path, text);
  } catch (error) {
    throw new CommandFailure(describeWriteFailure(file, error), { cause: error });
  }
}

/** The sample that the author chose for the prompt; null when search does not find the prompt. */
async function findSamples(
  client: Client,
  { title, promptId }: ShownPrompt,
  signal: AbortSignal,
): Promise<PromptSamples | null> {
  const { rows } = await client.prompts.search(title.slice(0, 200), { signal });
  return rows.find((row) => row.promptId === promptId)?.samples ?? null;
}

const NAME_LENGTH_MAX = 64;
const DESCRIPTION_LENGTH_MAX = 1_024;

/** Agents accept lowercase letters, digits, and single hyphens. The folder must have the same name. */
function skillName(name: string): string {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return plain.slice(0, NAME_LENGTH_MAX).replaceAll(/^-+|-+$/g, "");
}

function describeSkill(title: string, prompt: ShownPrompt, samples: PromptSamples | null): string {
  const { name, config } = prompt;
  const { inputs, images, options } = describeInputs(config);
  const listed = (lines: readonly string[]) => lines.map((line) => `- ${line}`);
  return [
    frontMatter(title, prompt),
    `# ${oneLine(prompt.title)}`,
    oneLine(prompt.description),
    `Output: ${config.output.type}. Price per run: ${describePrice(config)}. A failed run costs nothing.`,
    "## Run it",
    codeBlock("sh", exampleCommand(name, config)),
    usageOf(prompt),
    ...section("Inputs", listed(inputs)),
    ...section("Images", images),
    ...section("Options", listed(options)),
    ...exampleOf(prompt, samples),
  ]
    .filter((part) => part !== "")
    .join("\n\n")
    .concat("\n");
}

function frontMatter(title: string, { title: heading, description, config }: ShownPrompt): string {
  const about = oneLine(
    `${heading}. ${description} Makes ${config.output.type} by running a prompt on a promptd server.`,
  );
  return [
    "---",
    `name: ${title}`,
    // JSON strings are valid YAML.
    `description: ${JSON.stringify(about.slice(0, DESCRIPTION_LENGTH_MAX).toWellFormed())}`,
    "compatibility: Needs the promptd command and an API key in PROMPTD_API_KEY.",
    "---",
  ].join("\n");
}

function usageOf({ config }: ShownPrompt): string {
  const { type, schema } = config.output;
  const lines = [
    "- Pass each input as `KEY=VALUE`. `KEY=@FILE` reads it from a file, and `KEY=-` from standard input.",
    ...(config.imageCount === 0 ? [] : ["- Pass each image as `--image PATH|URL`, in the order below."]),
    ...(Object.keys(config.runOptions).length === 0 ? [] : ["- Pass an option as `--option KEY=VALUE`."]),
    ...(type === "text" ? [] : [`- Add \`--out DIR\` to save the ${type}. Its URL is valid for 24 hours.`]),
    ...(schema === undefined ? [] : ["- The text is JSON."]),
    "- Add `--json` for one JSON document with the outputs and the cost of the run.",
    "- The exit code is 0 when the run succeeds and 1 when it fails. The reason is on standard error.",
  ];
  return lines.join("\n");
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, lines.join("\n")];
}

function exampleOf({ name, config }: ShownPrompt, samples: PromptSamples | null): string[] {
  const output = samples?.outputs.find(({ type }) => type === "text");
  if (samples === null || output === undefined) return [];
  const command = exampleCommand(name, config, samples.inputs.textInputs);
  return ["## Example", codeBlock("sh", command), codeBlock("", output.data)];
}

/** Uses a fence longer than any in the text, so that the text cannot end its block. */
function codeBlock(language: string, text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
