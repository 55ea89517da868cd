import { readFile } from "node:fs/promises";
import type { Command, CommandOption, CommandTable } from "./command.ts";
import { COMMON_OPTIONS, flagOf, usageOf } from "./parse-arguments.ts";

/** Groups commands by their first word. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  "Run prompts": ["search", "show", "run", "runs", "batches", "models"],
  "Write prompts": ["prompt"],
  "Sign in, keys, and credits": ["login", "logout", "whoami", "me", "keys", "webhooks", "credits", "usage"],
  "Programs and agents": ["mcp", "skill", "types", "conform"],
  "Operate a server": ["serve", "migrate", "admin", "doctor"],
  "This command line": ["open", "config", "completion"],
};

/** Returns the output of `promptd --help`: a line for each command and each command group. */
export async function describeSections(table: CommandTable): Promise<string> {
  const left = new Set(Object.keys(table).map((path) => path.split(" ", 1)[0] ?? ""));
  const sections: [string, [string, string][]][] = [];
  for (const [title, names] of Object.entries(SECTIONS)) {
    const rows = await Promise.all(names.filter((name) => left.delete(name)).map((name) => describeFirst(table, name)));
    if (rows.length > 0) sections.push([title, rows]);
  }
  const others = await Promise.all([...left].map((name) => describeFirst(table, name)));
  if (others.length > 0) sections.push(["Other", others]);
  const width = Math.max(...sections.flatMap(([, rows]) => rows.map(([name]) => name.length)));
  const texts = sections.map(([title, rows]) => `${title}:\n${alignRows(rows, width)}`);
  return `promptd: the self-hosted prompt execution service

Usage: promptd <command> [flags]

${texts.join("\n\n")}

"promptd <command> --help" describes a command, or a group such as "runs".
${COMMON}`;
}

/** A command with its summary, or a group with its subcommands. */
async function describeFirst(table: CommandTable, name: string): Promise<[string, string]> {
  const command = await table[name]?.();
  if (command !== undefined) return [name, command.summary];
  const group = Object.keys(table).filter((path) => path.startsWith(`${name} `));
  const next = new Set(group.map((path) => path.split(" ")[1] ?? ""));
  return [`${name} …`, [...next].join(", ")];
}

const COMMON = `Every command accepts --help and --json (only one JSON document on stdout).
"promptd --version" prints the version.`;

/** Returns the help of a group, such as `promptd admin --help`. */
export async function describeGroup(table: CommandTable, prefix: string): Promise<string> {
  const rows: [string, string][] = [];
  for (const [path, load] of Object.entries(table)) {
    if (path.startsWith(prefix)) rows.push([path, (await load()).summary]);
  }
  return `Usage: promptd ${prefix}<command> [flags]

Commands:
${alignRows(rows)}

${COMMON}`;
}

/** Returns the output of `promptd <command> --help`. */
export function describeCommand(name: string, command: Command): string {
  return describeWithFlags(name, command, { ...command.options, ...COMMON_OPTIONS });
}

/** Describes a command on a page that describes the flags of all commands once. */
export function describeOnPage(name: string, command: Command): string {
  return describeWithFlags(name, command, command.options);
}

function describeWithFlags(name: string, command: Command, options: Readonly<Record<string, CommandOption>>): string {
  const flags = Object.entries(options).map(([key, option]): [string, string] => [
    flagName(key, option),
    `${option.summary}${option.isRequired === true ? " (required)" : ""}${option.multiple === true ? " (can be repeated)" : ""}`,
  ]);
  const details = command.details === undefined ? [] : [wrapLines(command.details)];
  const flagLines = flags.length === 0 ? [] : [`Flags:\n${alignRows(flags)}`];
  const session = command.session === "" ? [] : [`Example:\n\n${command.session.trim().replace(/^(?=.)/gm, "  ")}`];
  return [command.summary, `Usage: ${usageOf(name, command)} [flags]`, ...details, ...flagLines, ...session].join(
    "\n\n",
  );
}

function flagName(key: string, option: CommandOption): string {
  const short = option.short === undefined ? "" : `-${option.short}, `;
  return `${short}${flagOf(key, option)}`;
}

/** The default width of a terminal. */
const WIDTH = 80;
/** Applies beside the longest flags too. Their lines then exceed WIDTH. */
const RIGHT_WIDTH_MIN = 40;

function alignRows(rows: readonly (readonly [string, string])[], widthMin = 0): string {
  const width = Math.max(widthMin, ...rows.map(([left]) => left.length));
  const margin = " ".repeat(width + 4);
  const wrapped = (text: string) => wrap(text, Math.max(RIGHT_WIDTH_MIN, WIDTH - margin.length)).join(`\n${margin}`);
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${wrapped(right)}`).join("\n");
}

/** Wraps a text in which each line is a paragraph. */
function wrapLines(text: string): string {
  return text
    .split("\n")
    .flatMap((line) => wrap(line, WIDTH))
    .join("\n");
}

function wrap(text: string, width: number): string[] {
  if (text.length <= width) return [text]; // preserves its spaces
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Returns the version of this package. */
export async function readVersion(): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
  return String((manifest as { version: unknown }).version);
}
