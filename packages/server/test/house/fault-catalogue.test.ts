/** The table of faults in docs/internals/fault-cases.md names tests that exist, or says why there are none. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { FAULT_POINTS } from "../../src/platform/fault-injection.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const FILES = new Map(
  globSync(["packages/*/{src,test}/**/*.test.ts", "bench/**/*.test.ts"], {
    cwd: ROOT,
    exclude: (name) => name.includes("node_modules"), // the benchmark peers have their own tests
  }).map((file) => [basename(file), readFileSync(join(ROOT, file), "utf8")]),
);

interface Row {
  readonly number: number;
  readonly about: string;
  readonly text: string;
}

function rowsOf(page: string): Row[] {
  return [...page.matchAll(/^\| (\d+) \| ([^|]+) \| (.+) \|$/gm)].map(([, number, about = "", text = ""]) => {
    return { number: Number(number), about, text };
  });
}

/**
 * Returns what is wrong with a row: a missing file, test, or fault point, or a case without anything to show for it.
 */
function problemsOf({ number, text }: Pick<Row, "number" | "text">): string[] {
  let file: string | null = null;
  let tests = 0;
  const problems: string[] = [];
  for (const [, code, title] of text.matchAll(/`([^`]+)`|"([^"]+)"/g)) {
    if (code?.endsWith(".test.ts") === true) {
      file = code;
      if (!FILES.has(code)) problems.push(`${number}: no file ${code}`);
    } else if (code !== undefined && /^[a-z]+\.[a-z_]+$/.test(code)) {
      if (!FAULT_POINTS.some((point) => point === code)) problems.push(`${number}: no fault point ${code}`);
    } else if (title !== undefined) {
      tests += 1;
      if (!names(FILES.get(file ?? "") ?? "", title)) problems.push(`${number}: no test "${title}" in ${file}`);
    }
  }
  if (tests === 0 && !text.startsWith("No test: ")) problems.push(`${number}: neither a test nor a reason`);
  return problems;
}

/** A title is a literal that starts with it: of a test, a group, or a row of test.each. */
const names = (source: string, title: string) => ['"', "`", "'"].some((quote) => source.includes(quote + title));

const rows = rowsOf(readFileSync(join(ROOT, "docs/internals/fault-cases.md"), "utf8"));

test("each case is listed once and has its own number, without gaps", () => {
  expect(new Set(rows.map(({ about }) => about)).size).toBe(rows.length);
  expect(rows.length).toBeGreaterThan(90);
  const numbers = rows.map(({ number }) => number).sort((a, b) => a - b);
  expect(numbers).toEqual(rows.map((_, i) => i + 1));
});

test("every file, test, and fault point that a case names exists, and a case without a test says why", () => {
  expect(rows.flatMap(problemsOf)).toEqual([]);
});

describe("a wrong row is found", () => {
  test.each([
    ["that names a file that does not exist", '`no-such.test.ts`: "a thing"', "no file no-such.test.ts"],
    ["that names a test that does not exist", '`tidy.test.ts`: "is never"', 'no test "is never" in tidy.test.ts'],
    ["that names a fault point that does not exist", 'No test: `create.nowhere` "x"', "no fault point create.nowhere"],
    ["that names a file but none of its tests", "`fault-catalogue.test.ts`", "neither a test nor a reason"],
  ])("%s", (_, text, problem) => {
    expect(problemsOf({ number: 1, text }).join("\n")).toContain(`1: ${problem}`);
  });
});
