import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { VERSION } from "../../src/platform/version.ts";
import * as rules from "./tidy-rules.ts";
import type { Rule, Source } from "./tidy-rules.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const PATTERNS = [
  "packages/*/src/**/*.{ts,tsx}",
  "packages/*/test/**/*.ts",
  "packages/*/package.json",
  "packages/server/migrations/*.sql",
  "packages/server/src/**/*.sql",
  "scripts/*.ts",
  "package.json",
  ".oxlintrc.json",
];
const sources: Source[] = globSync(PATTERNS, { cwd: ROOT }).map((path) => ({
  path,
  text: readFileSync(join(ROOT, path), "utf8"),
}));

/** A rule, what it promises, and one or more sources that break it. */
const RULES: readonly { rule: Rule; promise: string; seeded: Source | readonly Source[] }[] = [
  {
    rule: rules.packageDirection,
    promise: "packages import only what they may",
    seeded: { path: "packages/client/src/x.ts", text: 'import { x } from "@promptd/server/operator";\n' },
  },
  {
    rule: rules.folderOrder,
    promise: "server folders import only to the left",
    seeded: { path: "packages/server/src/credits/x.ts", text: 'import { x } from "../runs/index.ts";\n' },
  },
  {
    rule: rules.folderOrder,
    promise: "a slice is entered only through its index.ts",
    seeded: { path: "packages/server/src/runs/x.ts", text: 'import { x } from "../prompts/publish.ts";\n' },
  },
  {
    rule: rules.subFolderOrder,
    promise: "subfolders of a slice import only to the left",
    seeded: { path: "packages/server/src/http/response/x.ts", text: 'import type { X } from "../request/x.ts";\n' },
  },
  {
    rule: rules.noImportCircle,
    promise: "there are no circular imports, not of types either",
    seeded: [
      { path: "packages/client/src/x.ts", text: 'import type { Y } from "./y.ts";\n' },
      { path: "packages/client/src/y.ts", text: 'import { x } from "./x.ts";\n' },
    ],
  },
  {
    rule: rules.folderCount,
    promise: "no folder has more sources than a reader can scan",
    seeded: Array.from({ length: 16 }, (_, i) => ({ path: `packages/server/src/runs/x${i}.ts`, text: "" })),
  },
  {
    rule: rules.oneImporter,
    promise: "the driver, the SDK, and the like have one importer each",
    seeded: { path: "packages/server/src/runs/x.ts", text: 'import { Pool } from "pg";\n' },
  },
  {
    rule: rules.oneImporter,
    promise: "the providers' packages are imported in two folders",
    seeded: { path: "packages/server/src/models/sandbox/x.ts", text: 'import type { X } from "@ai-sdk/provider";\n' },
  },
  {
    rule: rules.oneImporter,
    promise: "and the AI SDK itself in one, also at run time",
    seeded: { path: "packages/server/src/models/providers/x.ts", text: 'const { embed } = await import("ai");\n' },
  },
  {
    rule: rules.oneSpeaker,
    promise: "environment, clock and chance are passed in",
    seeded: { path: "packages/server/src/runs/x.ts", text: "const x = Date.now();\n" },
  },
  {
    rule: rules.oneSpeaker,
    promise: "the request path knows no endpoint by name",
    seeded: { path: "packages/server/src/http/request/x.ts", text: 'const isLarge = name === "createRun";\n' },
  },
  {
    rule: rules.oneResilience,
    promise: "retries, polls, and time limits go through platform/resilience",
    seeded: { path: "packages/server/src/runs/x.ts", text: "return Promise.race([work, timer]);\n" },
  },
  {
    rule: rules.fileSize,
    promise: "no file is longer than a reader can keep in mind",
    seeded: { path: "packages/server/src/runs/x.ts", text: "\n".repeat(401) },
  },
  {
    rule: rules.oneHop,
    promise: "what a slice exports is named with the file that contains it",
    seeded: { path: "packages/server/src/runs/x.ts", text: 'export { y } from "./y.ts";\n' },
  },
  {
    rule: rules.plainFaces,
    promise: "every export is listed by name",
    seeded: { path: "packages/server/src/runs/index.ts", text: 'export * from "./x.ts";\n' },
  },
  {
    rule: rules.goodNames,
    promise: "every file name says what the file contains",
    seeded: { path: "packages/server/src/runs/utils.ts", text: "" },
  },
  {
    rule: rules.oneWriter,
    promise: "each table has one writer",
    seeded: { path: "packages/server/src/runs/x-store.ts", text: '"update credit_accounts set held = 0"' },
  },
  {
    rule: rules.ownedTables,
    promise: "each table has an owner",
    seeded: { path: "packages/server/migrations/9999-x.sql", text: "create table strays (id int);" },
  },
  {
    rule: rules.sqlPlaces,
    promise: "SQL is only in stores",
    seeded: { path: "packages/server/src/runs/x.ts", text: 'db.query("select 1 from runs")' },
  },
  {
    rule: rules.oneWriter,
    promise: "each table has one writer, also in SQL files",
    seeded: { path: "packages/server/src/runs/sql/x.sql", text: "delete from credit_holds;" },
  },
  {
    rule: rules.sqlDefinitions,
    promise: "migrations define no function, trigger, or view",
    seeded: { path: "packages/server/migrations/9999-x.sql", text: "create function x() returns int" },
  },
  {
    rule: rules.sqlDefinitions,
    promise: "each database function is defined once",
    seeded: {
      path: "packages/server/src/runs/sql/x.sql",
      text: "create or replace function x() $$ $$;\ncreate or replace function x(p int) $$ $$;",
    },
  },
  {
    rule: rules.compatibleMigrations,
    promise: "a compatible migration removes nothing that an older program uses",
    seeded: {
      path: "packages/server/migrations/9999-x.sql",
      text: "-- promptd: compatible\nalter table runs add column region text not null;",
    },
  },
  {
    rule: rules.compatibleMigrations,
    promise: "an index on a table in use is built concurrently",
    seeded: {
      path: "packages/server/migrations/9999-x.sql",
      text: "-- promptd: compatible\ncreate index runs_region on runs (region);",
    },
  },
  {
    rule: rules.sqlHeaders,
    promise: "every SQL file starts with what it is for",
    seeded: { path: "packages/server/src/runs/sql/x.sql", text: "create or replace view x as select 1;" },
  },
  {
    rule: rules.exactPins,
    promise: "dependencies are pinned exactly",
    seeded: { path: "packages/client/package.json", text: '{"dependencies":{"x":"^1.0.0"}}' },
  },
  {
    rule: rules.lintHolds,
    promise: "the linter still checks the syntax limits",
    seeded: { path: ".oxlintrc.json", text: '{"rules":{"max-params":"off"}}' },
  },
  {
    rule: rules.reasonedExceptions,
    promise: "an exception to a rule gives its reason",
    seeded: { path: "packages/server/src/runs/x.ts", text: "// oxlint-disable-next-line no-console\n" },
  },
  {
    rule: rules.patientTests,
    promise: "a test that waits allows the time that a busy machine needs",
    seeded: { path: "packages/server/test/runs/x.test.ts", text: ["await vi", ".waitFor(() => {});\n"].join("") },
  },
  {
    rule: rules.nothingLeftOpen,
    promise: "nothing is left open in the code",
    seeded: { path: "packages/server/src/runs/x.ts", text: ["// TO", "DO later\n"].join("") },
  },
];

describe.each(RULES)("$promise", ({ rule, seeded }) => {
  test("in the tree", () => {
    expect(rule(sources)).toEqual([]);
  });
  test("and a seeded violation is caught", () => {
    expect(rule([seeded].flat()).length).toBeGreaterThan(0);
  });
});

test("a released migration never changes", () => {
  const released = JSON.parse(readFileSync(join(ROOT, "packages/server/migrations/released.json"), "utf8")) as Record<
    string,
    string
  >;
  const found = Object.fromEntries(
    sources
      .filter(({ path }) => path.startsWith("packages/server/migrations/") && path.endsWith(".sql"))
      .map(({ path, text }) => [
        path.slice("packages/server/migrations/".length, -".sql".length),
        createHash("sha256").update(text).digest("hex"),
      ]),
  );
  expect(Object.fromEntries(Object.keys(released).map((name) => [name, found[name]]))).toEqual(released);
});

test("the server reports the version of its package", () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "packages/server/package.json"), "utf8")) as {
    version: string;
  };
  expect(VERSION).toBe(version);
});
