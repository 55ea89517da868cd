/**
 * Messages and documents name only promptd commands that exist. docs.test.ts checks that docs/cli.md has all of them.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AUTHOR_COMMANDS } from "../../../cli/src/commands/author-commands.ts";
import { END_USER_COMMANDS } from "../../../cli/src/end-user-commands.ts";
import { describeCommand, describeSections } from "../../../cli/src/help-text.ts";
import { OPERATOR_COMMANDS } from "../../../cli/src/operator-commands.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const TABLE = { ...END_USER_COMMANDS, ...AUTHOR_COMMANDS, ...OPERATOR_COMMANDS };
const COMMANDS = Object.keys(TABLE);
/** What follows the word promptd in texts that are not commands: sentences about it, and labels. */
const PROSE =
  /^(needs|has|could|failed|is|does|listens|runs published|seed catalogue|file addresses|secret fingerprint)\b/;
/** After a quote, a bracket, a colon, or npx, or at the start of a line. */
const MENTION = /(?:["'`(]|: |npx |^\s*)promptd ([a-z]+(?:[ -][a-z]+)*)/gm;

/** Returns every command that a text names, with the words that follow it. */
function mentionsIn(text: string): string[] {
  return [...text.matchAll(MENTION)].map(([, words = ""]) => words).filter((words) => !PROSE.test(words));
}

function exists(words: string): boolean {
  return COMMANDS.some((command) => `${words} `.startsWith(`${command} `) || command.startsWith(`${words} `));
}

function strangeIn(pattern: string): string[] {
  const files = globSync(pattern, { cwd: ROOT, exclude: (name) => /node_modules|dist|\.test\.ts$/.test(name) });
  expect(files.length).toBeGreaterThan(0);
  return files.flatMap((file) =>
    mentionsIn(readFileSync(join(ROOT, file), "utf8"))
      .filter((words) => !exists(words))
      .map((words) => `${file}: promptd ${words}`),
  );
}

describe("every promptd command that is named exists", () => {
  test.each(["packages/*/src/**/*.ts", "packages/*/bin/*", "*.md", "docs/**/*.md", "examples/*.md"])(
    "in %s",
    (pattern) => {
      expect(strangeIn(pattern)).toEqual([]);
    },
  );

  test("and a command that does not exist is found", () => {
    const text =
      'Run "promptd admin key rotate". Or: promptd register\n`promptd runs list --all`, npx promptd admin key create';
    const found = mentionsIn(text);
    expect(found).toEqual(["admin key rotate", "register", "runs list", "admin key create"]);
    expect(found.filter((words) => !exists(words))).toEqual(["admin key rotate", "register"]);
  });
});

test("the list of commands has every command under a heading, on one page of 60 lines and 80 columns", async () => {
  const lines = (await describeSections(TABLE)).split("\n");
  expect(lines).not.toContain("Other:");
  const firsts = [...new Set(COMMANDS.map((command) => command.split(" ", 1)[0] ?? ""))];
  const listed = lines.flatMap((line) => /^ {2}([a-z]+) /.exec(line)?.[1] ?? []);
  expect(listed.toSorted()).toEqual(firsts.toSorted());
  expect(lines.length).toBeLessThanOrEqual(60);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});

test("the help of each command fits a terminal of 80 columns, except its usage and its longest flags", async () => {
  const wide = await Promise.all(
    Object.entries(TABLE).map(async ([name, load]) => {
      const [, details = "", flags = ""] =
        /^Usage: [^]*?\n\n([^]*?)Flags:\n([^]*?)(\n\n|$)/m.exec(describeCommand(name, await load())) ?? [];
      const margin = Math.max(...flags.split("\n").map((line) => /^ {2}-\S.*? {2,}/.exec(line)?.[0].length ?? 0));
      const isWide = (line: string) => line.length > Math.max(80, margin + 40);
      return [...details.split("\n"), ...flags.split("\n")].filter(isWide).map((line) => `${name}: ${line}`);
    }),
  );
  expect(wide.flat()).toEqual([]);
});

describe("the worked session of each command", () => {
  test.each(Object.entries(TABLE))("promptd %s has one, with flags that exist", async (name, load) => {
    const command = await load();
    const lines = command.session
      .split("\n")
      .filter((line) => line.startsWith("$ ") && line.includes(`promptd ${name}`));
    expect(lines.length).toBeGreaterThan(0);
    const known = Object.keys({ ...command.options, json: 0, help: 0 }).map((flag) => `--${flag}`);
    const flags = lines.flatMap((line) => line.match(/(?<=\s)--[a-z-]+/g) ?? []);
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
  });
});
