import { readFile } from "node:fs/promises";
import type { Command, CommandOption, CommandTable } from "./command.ts";
import { COMMON_OPTIONS, flagOf, usageOf } from "./parse-arguments.ts";

/** What `promptd --help` or a group such as `promptd admin --help` prints. */
export async function describeTable(table: CommandTable, prefix: string): Promise<string> {
  const rows: [string, string][] = [];
  for (const [path, load] of Object.entries(table)) {
    if (path.startsWith(prefix)) rows.push([path, (await load()).summary]);
  }
  const title = prefix === "" ? "promptd: the self-hosted prompt execution service\n\n" : "";
  return `${title}Usage: promptd ${prefix}<command> [flags]

Commands:
${alignRows(rows)}

Every command takes --json (one JSON document on stdout, nothing else there) and --help.
"promptd --version" prints the version.`;
}

/** What `promptd <command> --help` prints. */
export function describeCommand(name: string, command: Command): string {
  const flags = Object.entries({ ...command.options, ...COMMON_OPTIONS }).map(([key, option]): [string, string] => [
    flagName(key, option),
    `${option.summary}${option.isRequired === true ? " (required)" : ""}${option.multiple === true ? " (may be repeated)" : ""}`,
  ]);
  const details = command.details === undefined ? "" : `\n${wrapLines(command.details)}\n`;
  const session = command.session === "" ? "" : `\n\nExample:\n\n${command.session.trim().replace(/^(?=.)/gm, "  ")}`;
  return `${command.summary}\n\nUsage: ${usageOf(name, command)} [flags]\n${details}\nFlags:\n${alignRows(flags)}${session}`;
}

function flagName(key: string, option: CommandOption): string {
  const short = option.short === undefined ? "" : `-${option.short}, `;
  return `${short}${flagOf(key, option)}`;
}

/** As wide as terminals are that nobody has changed. */
const WIDTH = 80;
/** Beside the longest flags, too, whose lines are then wider. */
const RIGHT_WIDTH_MIN = 40;

function alignRows(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  const margin = " ".repeat(width + 4);
  const wrapped = (text: string) => wrap(text, Math.max(RIGHT_WIDTH_MIN, WIDTH - margin.length)).join(`\n${margin}`);
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${wrapped(right)}`).join("\n");
}

/** Each line of the text is a paragraph. */
function wrapLines(text: string): string {
  return text
    .split("\n")
    .flatMap((line) => wrap(line, WIDTH))
    .join("\n");
}

function wrap(text: string, width: number): string[] {
  if (text.length <= width) return [text]; // with its own spaces
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Of this package. */
export async function readVersion(): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
  return String((manifest as { version: unknown }).version);
}
