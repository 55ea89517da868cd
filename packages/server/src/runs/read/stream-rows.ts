/** Responses with many rows, as JSON lines or CSV, written while the rows are read. */
import { Readable } from "node:stream";
import type { StreamAnswer } from "../../http/endpoint.ts";
import { walkPages } from "../../platform/database/pages.ts";
import { toCsvLine } from "./csv.ts";

/** How rows are written to a file. */
export interface LineForm<Row> {
  readonly mediaType: string;
  readonly head: string;
  readonly line: (row: Row) => string;
}

export const JSON_LINES: LineForm<object> = {
  mediaType: "application/x-ndjson; charset=utf-8",
  head: "",
  line: (row) => `${JSON.stringify(row)}\n`,
};

/** @returns CSV with these columns, whose cells are numbers or texts; null is an empty cell. */
export function csvForm<Row>(
  columns: readonly string[],
  cellsOf: (row: Row) => readonly (number | string | null)[],
): LineForm<Row> {
  return {
    mediaType: "text/csv; charset=utf-8",
    head: toCsvLine(columns),
    line: (row) => toCsvLine(cellsOf(row)),
  };
}

/** `next` as in `walkPages`. */
export function streamLines<Row>(
  form: LineForm<Row>,
  next: (last: Row | undefined) => Promise<readonly Row[]>,
  headers: Readonly<Record<string, string>> = {},
): StreamAnswer {
  const body = Readable.from(textOf(form, next), { objectMode: false });
  return { status: 200, headers: { "content-type": form.mediaType, "cache-control": "no-store", ...headers }, body };
}

async function* textOf<Row>(
  { head, line }: LineForm<Row>,
  next: (last: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<string> {
  if (head !== "") yield head;
  for await (const page of walkPages(next)) yield page.map(line).join("");
}
