import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DIST } from "./support/build.ts";

/** The limit in CONTRIBUTING.md for compressed JavaScript and CSS on the first page. */
const BYTES_MAX = 140_000;

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
}

const manifest = JSON.parse(readFileSync(join(DIST, ".vite/manifest.json"), "utf8")) as Record<string, Chunk>;

/** Everything that loads before the screen of this name can be shown. */
function filesOf(names: readonly string[]): Set<string> {
  const files = new Set<string>();
  const seen = new Set<string>();
  const visit = (name: string) => {
    if (seen.has(name)) return;
    seen.add(name);
    const chunk = manifest[name];
    if (chunk === undefined) throw new Error(`The build has no ${name}.`);
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const imported of chunk.imports ?? []) visit(imported);
  };
  for (const name of names) visit(name);
  return files;
}

/** Files too small to compress are sent as they are. */
function sentBytes(file: string): number {
  const compressed = statSync(join(DIST, `${file}.br`), { throwIfNoEntry: false });
  return (compressed ?? statSync(join(DIST, file))).size;
}

test.each([
  ["the marketplace", ["index.html"]],
  ["the sign-in", ["index.html", "src/screens/sign-in/sign-in.tsx"]],
])("%s weighs at most 140 kB on the first load", (_page, names) => {
  const bytes = [...filesOf(names)].reduce((sum, file) => sum + sentBytes(file), 0);
  expect(bytes).toBeLessThanOrEqual(BYTES_MAX);
  expect(bytes).toBeGreaterThan(50_000); // the files were found
});

test("the built page references no other host", () => {
  expect(readFileSync(join(DIST, "index.html"), "utf8")).not.toMatch(/https?:\/\//);
});
