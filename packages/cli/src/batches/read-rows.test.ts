import { describe, expect, test } from "vitest";
import { readRows } from "./read-rows.ts";

const csv = (text: string) => readRows("f.csv", text).map(({ line, cells }) => [line, ...Object.values(cells)]);

describe("a CSV file", () => {
  test("is parsed into rows with their starting lines", () => {
    expect(readRows("f.csv", "\ufefftopic,tone\r\ntea,calm\r\nrain,\r\n")).toEqual([
      { line: 2, cells: { topic: "tea", tone: "calm" } },
      { line: 3, cells: { topic: "rain", tone: "" } },
    ]);
  });

  test("has quotation marks around cells with commas, line breaks, and quotation marks", () => {
    expect(csv('a,b\n"x, ""y""\nz",1\n\nlast,5" pipe')).toEqual([
      [2, 'x, "y"\nz', "1"],
      [5, "last", '5" pipe'],
    ]);
  });

  test.each([";", "\t"])("may separate its cells with %j", (separator) => {
    expect(csv(`a${separator}b\n1,5${separator}2`)).toEqual([[2, "1,5", "2"]]);
  });

  test.each([
    ["a,b\n1,2,3", "f.csv:2 has 3 cells, but the first line names 2 columns."],
    ['a\n"open', "f.csv:2: a quotation mark is not closed, or is inside an unquoted text."],
    ['a\n"x"y', "f.csv:2: a quotation mark is not closed, or is inside an unquoted text."],
    ["a,b,a,b,a,c\n1,2,3,4,5,6", 'f.csv has 3 columns named "a": 1, 3, 5.\nf.csv has 2 columns named "b": 2, 4.'],
  ])("%j is rejected with its line", (text, message) => {
    expect(() => csv(text)).toThrow(message);
  });

  test("with a cell of a megabyte is read", () => {
    expect(csv(`a\n"${'""x'.repeat(300_000)}"`)[0]?.[1]).toHaveLength(600_000);
  });
});

describe("a file of JSON lines", () => {
  test("is parsed into rows of strings, numbers, booleans, and lists", () => {
    expect(readRows("f.jsonl", '{"a":"x","b":5}\n\n{"a":true,"b":["p","q"],"c":null}\n')).toEqual([
      { line: 1, cells: { a: "x", b: "5" } },
      { line: 3, cells: { a: "true", b: "p\nq" } },
    ]);
  });

  test("keeps numbers as they are written, however long", () => {
    const [row] = readRows(
      "f.jsonl",
      '{"order":12345678901234567890,"price":1.50,"big":1e3,"list":[9007199254740993]}',
    );
    expect(row?.cells).toEqual({ order: "12345678901234567890", price: "1.50", big: "1000", list: "9007199254740993" });
  });

  test.each([
    ["{}\n[1]", "f.jsonl:2 is not a JSON object."],
    ["nonsense", "f.jsonl:1 is not a JSON object."],
    ['{"a":{}}', 'f.jsonl:1: "a" is not a string, number, boolean, or list.'],
  ])("%j is rejected with its line", (text, message) => {
    expect(() => readRows("f.jsonl", text)).toThrow(message);
  });
});

test("any other file is rejected", () => {
  expect(() => readRows("rows.xlsx", "")).toThrow("rows.xlsx is neither a .csv nor a .jsonl file.");
});
