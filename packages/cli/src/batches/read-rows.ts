import { countOf } from "@promptd/contract";
import { CommandFailure } from "../command.ts";
import { printableLine } from "../printable.ts";
import { readJsonTexts } from "../runs/json-texts.ts";

/** One row of a file: its cells by column name, and the line where it begins. */
export interface Row {
  readonly line: number;
  readonly cells: Readonly<Record<string, string>>;
}

/** @throws CommandFailure that names the invalid line. */
export function readRows(name: string, text: string): Row[] {
  const content = text.startsWith("\ufeff") ? text.slice(1) : text; // spreadsheets write a byte order mark
  if (/\.(jsonl|ndjson)$/i.test(name)) return readJsonLines(name, content);
  if (/\.csv$/i.test(name)) return readCsv(name, content);
  throw new CommandFailure(`${name} is neither a .csv nor a .jsonl file.`, {
    hint: "Rename it, or convert it to one of these formats; docs/batches.md shows both.",
  });
}

function readJsonLines(name: string, text: string): Row[] {
  return text.split("\n").flatMap((source, index) => {
    if (source.trim() === "") return [];
    const line = index + 1;
    return [{ line, cells: readJsonTexts(source, `${name}:${line}`) }];
  });
}

/** RFC 4180, with the separator found in the first line: in some countries, spreadsheets write semicolons. */
function readCsv(name: string, text: string): Row[] {
  const [head, ...records] = splitCsv(name, text);
  if (head === undefined) return [];
  const names = head.cells.map((cell) => cell.trim());
  refuseSameColumns(name, names);
  return records.map(({ line, cells }) => {
    if (cells.length > names.length) {
      const counts = `${cells.length} cells, but the first line names ${countOf(names.length, "column")}`;
      throw new CommandFailure(`${name}:${line} has ${counts}.`, {
        hint: "Put quotation marks around text that contains a comma.",
      });
    }
    return { line, cells: Object.fromEntries(cells.map((cell, index) => [names[index] ?? "", cell])) };
  });
}

/** @throws CommandFailure that lists the columns of every repeated name. */
function refuseSameColumns(file: string, names: readonly string[]): void {
  const repeated = [...new Set(names.filter((one, index) => names.indexOf(one) !== index))];
  if (repeated.length === 0) return;
  const faults = repeated.map((name) => {
    const columns = names.flatMap((one, index) => (one === name ? [index + 1] : []));
    return `${file} has ${columns.length} columns named "${printableLine(name)}": ${columns.join(", ")}.`;
  });
  throw new CommandFailure(faults.join("\n"), { hint: "Give each column a unique name." });
}

interface Records {
  readonly line: number;
  readonly cells: string[];
}

/** A quoted cell may contain separators and line breaks; "" in it is one quotation mark. The second group is its end. */
function cellPattern(separator: string): RegExp {
  const quoted = '"[^"]*(?:""[^"]*)*"';
  const plain = `[^"\\r\\n${separator}][^\\r\\n${separator}]*`;
  return new RegExp(`(${quoted}|${plain}|)(${separator}|\\r?\\n|$)`, "y");
}

function splitCsv(name: string, text: string): Records[] {
  const separator = /[,;\t]/.exec(text.split("\n", 1)[0]?.replaceAll(/"[^"]*"/g, "") ?? "")?.[0] ?? ",";
  const cell = cellPattern(separator);
  const records: Records[] = [];
  let [line, at] = [1, 0];
  while (at < text.length) {
    const record: Records = { line, cells: [] };
    for (let isOpen = true; isOpen;) {
      cell.lastIndex = at;
      const found = cell.exec(text);
      if (found === null)
        throw new CommandFailure(`${name}:${line}: a quotation mark is not closed, or is inside an unquoted text.`);
      const [whole, value = "", end = ""] = found;
      at += whole.length;
      record.cells.push(value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value);
      line += whole.split("\n").length - 1;
      isOpen = end === separator;
    }
    if (record.cells.length > 1 || record.cells[0] !== "") records.push(record); // not a blank line
  }
  return records;
}
