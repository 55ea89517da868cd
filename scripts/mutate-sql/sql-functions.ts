/** The database functions, each with its text and location. */
import { readSqlFiles, type SqlFile } from "../../packages/server/src/platform/database/sql-files.ts";

export interface SqlFunction {
  readonly name: string;
  /** Path below `src`, such as "credits/sql/settle.sql". */
  readonly file: string;
  /** The line of the file where `text` begins, from 1. */
  readonly line: number;
  /** The complete statement. */
  readonly text: string;
  /** The start and end of the body between the dollar quotes in `text`. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

const STATEMENT = /^create or replace function (?<name>\w+)\((?:.|\n)*?\$\$(?<body>(?:.|\n)*?)\$\$;/gm;

export function readSqlFunctions(): SqlFunction[] {
  return readSqlFiles().flatMap(functionsOf);
}

function functionsOf(file: SqlFile): SqlFunction[] {
  return [...file.text.matchAll(STATEMENT)].map((match) => {
    const [text] = match;
    const { name = "", body = "" } = match.groups ?? {};
    const bodyStart = text.indexOf("$$") + 2;
    const line = file.text.slice(0, match.index).split("\n").length;
    return { name, file: file.name, line, text, bodyStart, bodyEnd: bodyStart + body.length };
  });
}
