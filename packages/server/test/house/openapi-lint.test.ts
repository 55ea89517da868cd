/** Checks both OpenAPI documents with a linter that knows the specification. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { CALLERS_API, MANAGE_API } from "../../src/http/described-apis.ts";
import { openApiText } from "../../src/http/openapi.ts";

const LINTER = join(dirname(fileURLToPath(import.meta.resolve("@redocly/cli/package.json"))), "bin/cli.js");
/** It makes no network requests: neither to look for a newer version nor to report its use. */
const QUIET = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", NO_COLOR: "1" };

const CALLERS = openApiText("https://promptd.example.org", CALLERS_API);
const DOCUMENTS = {
  "openapi.json": CALLERS,
  "manage-openapi.json": openApiText("https://promptd.example.org", MANAGE_API),
  "wrong.json": CALLERS.replace('"operationId":"getMe"', '"operationId":7'),
};

interface Problem {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly source: { readonly ref: string } }[];
}

/**
 * Returns its errors and warnings, in its own words. It reads all documents at once, because each start takes a second.
 */
let problems: readonly Problem[];
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "promptd-openapi-"));
  for (const [name, text] of Object.entries(DOCUMENTS)) await writeFile(join(folder, name), text);
  const args = [LINTER, "lint", ...Object.keys(DOCUMENTS), "--extends=recommended", "--format=json"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env: QUIET }).catch(
    (error: { stdout: string }) => error, // a nonzero exit code: there are errors
  );
  const reports = JSON.parse(`[${stdout.replaceAll(/^\}\s*\{/gmu, "},{")}]`) as { problems: Problem[] }[]; // one after another
  problems = reports.flatMap((report) => report.problems);
  await rm(folder, { recursive: true });
});

const findings = (name: keyof typeof DOCUMENTS) =>
  problems
    .filter(({ location }) => location.some(({ source }) => source.ref === name))
    .map(({ ruleId, message }) => `${ruleId}: ${message}`);

test.each(["openapi.json", "manage-openapi.json"] as const)(
  "%s is a valid document, and nothing in it is doubtful",
  (name) => {
    expect(findings(name)).toEqual([]);
  },
);

test("a document with an error is distinguished from a document without", () => {
  expect(findings("wrong.json")).not.toEqual([]);
});
