/** Retired words and phrases (docs/glossary.md) do not come back. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../../..");

/** Words that are never used here, as part of an identifier such as `waitForTurn`. */
const RETIRED = new Set(
  `turn turns told tell tells patience patient patiently wish wishes ear bell door doors beat beats kept keeping outlast
   gate gates look looks looked place places visit vain act acts departure departures`.split(/\s+/),
);
/** Identifiers from Node and libraries, and plain English compounds. */
const ALLOWED = new Set(["lookUp"]);

function withoutTextsAndComments(source: string): string {
  return source
    .replaceAll(/\/\*[\s\S]*?\*\/|(^|\s)\/\/[^\n]*/g, " ")
    .replaceAll(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`$]*`/g, '""');
}

function retiredIn(source: string): string[] {
  const identifiers = new Set(withoutTextsAndComments(source).match(/[A-Za-z_$][\w$]*/g));
  return [...identifiers].filter(
    (identifier) =>
      !ALLOWED.has(identifier) &&
      (identifier.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).some((part) => RETIRED.has(part.toLowerCase())),
  );
}

test("no identifier contains a retired word", () => {
  const files = globSync("packages/*/src/**/*.ts", { cwd: ROOT });
  const found = files.flatMap((file) =>
    retiredIn(readFileSync(join(ROOT, file), "utf8")).map((identifier) => `${file}: ${identifier}`),
  );
  expect(found).toEqual([]);
});

test("and an identifier that does would be found", () => {
  expect(retiredIn("const waitForTurn = 1; // a turn")).toEqual(["waitForTurn"]);
  expect(retiredIn('const KEPT_MAX = "told"; lookUp();')).toEqual(["KEPT_MAX"]);
});

/** Phrases that make a reader read twice. "There is no file" is fine; "it is no file" is not. */
const RETIRED_PHRASE =
  /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b)|\btakes no\b|\bany more\b|\bgoes on\b|\bmend(?:s|ed|ing)?\b|\bwhoever\b|\bis told\b/i;

test("no message, comment, or page contains a retired phrase", () => {
  const files = globSync(["packages/*/src/**/*.{ts,tsx}", "*.md", "docs/*.md", "docs/internals/*.md"], { cwd: ROOT });
  const found = files.flatMap((file) =>
    readFileSync(join(ROOT, file), "utf8")
      .split("\n")
      .filter((line) => file !== "docs/glossary.md" && RETIRED_PHRASE.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

test("and a phrase that does would be found", () => {
  expect(["X is no setting", "It takes no images", "It goes on"].every((line) => RETIRED_PHRASE.test(line))).toBe(true);
  expect(RETIRED_PHRASE.test("There is no file; it is no longer there")).toBe(false);
});
