/** The functions of a migration, each with its text and where it stands. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface SqlFunction {
  readonly name: string;
  /** File name of the migration. */
  readonly file: string;
  /** Line of the migration in which `text` begins, counted from 1. */
  readonly line: number;
  /** The whole statement, as `create or replace`. */
  readonly text: string;
  /** Where the body between the dollar quotes begins and ends in `text`. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

const STATEMENT = /^create function (?<name>\w+)\((?:.|\n)*?\$\$(?<body>(?:.|\n)*?)\$\$;/gm;

export function readSqlFunctions(directory: string): SqlFunction[] {
  const files = readdirSync(directory).filter((file) => file.endsWith(".sql"));
  return files.sort().flatMap((file) => functionsOf(file, readFileSync(join(directory, file), "utf8")));
}

function functionsOf(file: string, migration: string): SqlFunction[] {
  return [...migration.matchAll(STATEMENT)].map((match) => {
    const { name = "", body = "" } = match.groups ?? {};
    const text = match[0].replace("create function", "create or replace function");
    const bodyStart = text.indexOf("$$") + 2;
    const line = migration.slice(0, match.index).split("\n").length;
    return { name, file, line, text, bodyStart, bodyEnd: bodyStart + body.length };
  });
}
