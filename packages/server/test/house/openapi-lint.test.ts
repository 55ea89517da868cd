/** Both OpenAPI documents as a linter that knows the specification reads them. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { CALLERS_API, MANAGE_API } from "../../src/http/described-apis.ts";
import { openApiText } from "../../src/http/openapi.ts";

const LINTER = join(dirname(fileURLToPath(import.meta.resolve("@redocly/cli/package.json"))), "bin/cli.js");
/** It asks nobody on the network: neither for a newer version nor to report its use. */
const QUIET = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", NO_COLOR: "1" };

/** What it finds, errors and warnings, in its own words. */
async function findings(document: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "promptd-openapi-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "openapi.json");
  await writeFile(file, document);
  const args = [LINTER, "lint", file, "--extends=recommended", "--format=json"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env: QUIET }).catch(
    (error: { stdout: string }) => error, // an exit code other than 0: there are errors
  );
  const { problems } = JSON.parse(stdout) as { problems: { ruleId: string; message: string }[] };
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`);
}

test.each([
  ["/openapi.json", CALLERS_API],
  ["/manage/openapi.json", MANAGE_API],
])("%s is a valid document, and nothing in it is doubtful", async (_path, api) => {
  expect(await findings(openApiText("https://promptd.example.org", api))).toEqual([]);
});

test("a document with an error is told from one without", async () => {
  const document = openApiText("https://promptd.example.org", CALLERS_API).replace(
    '"operationId":"getMe"',
    '"operationId":7',
  );
  expect(await findings(document)).not.toEqual([]);
});
