import { readFile } from "node:fs/promises";
import type { Command, CommandOption, CommandTable } from "./command.ts";
import { COMMON_OPTIONS } from "./parse-arguments.ts";

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
  const usage = ["promptd", name, command.usage, "[flags]"].filter((part) => part !== "").join(" ");
  const flags = Object.entries({ ...command.options, ...COMMON_OPTIONS }).map(([key, option]): [string, string] => [
    flagName(key, option),
    `${option.summary}${option.multiple === true ? " (may be repeated)" : ""}`,
  ]);
  const details = command.details === undefined ? "" : `\n${command.details}\n`;
  const session = command.session === "" ? "" : `\n\nExample:\n\n${command.session.trim().replace(/^(?=.)/gm, "  ")}`;
  return `${command.summary}\n\nUsage: ${usage}\n${details}\nFlags:\n${alignRows(flags)}${session}`;
}

function flagName(key: string, option: CommandOption): string {
  const short = option.short === undefined ? "" : `-${option.short}, `;
  return `${short}--${key}${option.type === "string" ? ` ${option.value ?? "VALUE"}` : ""}`;
}

function alignRows(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}

/** Of this package. */
export async function readVersion(): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
  return String((manifest as { version: unknown }).version);
}
