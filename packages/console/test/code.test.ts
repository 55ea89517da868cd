/** The code that the console shows for a run works as copied, next to a photo. */
import { execFile, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writePng } from "../../server/test/files/png-bytes.ts";
import { startTestServer, type TestCaller, type TestServer } from "../../server/test/support/test-server.ts";
import { LANGUAGES, runCode, type Language, type RunCall } from "../src/components/prompt/run-code.ts";

const PROMPT = `---
promptd: 1
title: Photo with words
model: sandbox/text
images:
  - { label: Photo }
  - { label: Frame }
inputs: { words: { label: Words, maxLength: 500 } }
---
{{ words }}
`;

/** Text that shells, JSON, and Python would misread. */
const WORDS = 'It\'s $HOME, `date` \\n \\ "quoted" $(date) ${PATH}\nJSON\n\'\'\'""" ’ü';

/** Photos from phones have megabytes, and file names can contain any character. */
const PIXELS = 830;
const PHOTO = writePng(
  { width: PIXELS, height: PIXELS, depth: 8, color: 2 },
  Buffer.concat(Array.from({ length: PIXELS }, () => Buffer.concat([Buffer.alloc(1), randomBytes(3 * PIXELS)]))),
);
const NAME = "IMG 1's $1 `x`.png";

/** Runs a program in the photo's directory. If it fails, throws with its output. */
const start = promisify(execFile);

let server: TestServer;
let caller: TestCaller;
let directory: string;
let call: RunCall;
beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller();
  // Inside the package, so that the program can import the client.
  directory = await mkdtemp(join(import.meta.dirname, "code-"));
  writeFileSync(join(directory, NAME), PHOTO);
  writeFileSync(join(directory, "photo-2.jpg"), PHOTO);
  const { promptVersionId } = await server.publish(PROMPT);
  const images = [{ file: NAME }, { file: "photo-2.jpg" }];
  call = { promptVersionId, texts: { words: WORDS }, images, options: { reasoningEffort: "low" } };
});
afterAll(async () => {
  await server?.close();
  await rm(directory, { recursive: true, force: true });
});

const codeIn = (language: Language, of: RunCall = call) =>
  runCode(language, of, { baseUrl: server.url, key: { name: "shop\nrm -rf", display: "pd_01234…6789" } });

async function output(program: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, PROMPTD_API_KEY: caller.apiKey, NO_COLOR: "1" };
  return (await start(program, args, { cwd: directory, env })).stdout;
}

/** The inputs arrived intact, both in the sandbox's output and in the stored run. */
async function expectRun(): Promise<void> {
  const { rows } = await caller.client.runs.list({ limit: 1 });
  const run = await caller.client.runs.get(rows[0]?.runId ?? "");
  const text = run.outputs[0]?.data ?? "";
  expect([run.runStatus, text.includes("images: 2"), text.includes("reasoning: low")]).toEqual([
    "succeeded",
    true,
    true,
  ]);
  expect(text).toContain(WORDS);
}

test("curl sends two 2 MB photos from every installed shell", async () => {
  expect(PHOTO.length).toBeGreaterThan(2_000_000);
  for (const shell of ["sh", "bash"]) {
    const { status } = JSON.parse(await output(shell, ["-c", codeIn("curl")])) as { status: string };
    expect([shell, status]).toEqual([shell, "SUCCESS"]);
    await expectRun();
  }
});

test("curl sends texts unchanged when there are no files", async () => {
  const { promptVersionId } = await server.publish(PROMPT.replace(/images:\n.*\n.*\n/, ""));
  const texts = { words: WORDS };
  const answer = await output("sh", ["-c", codeIn("curl", { promptVersionId, texts, images: [], options: {} })]);
  expect((JSON.parse(answer) as { data: { outputs: { data: string }[] } }).data.outputs[0]?.data).toContain(WORDS);
});

test("no line installs a package by a name that is in no registry", () => {
  const code = LANGUAGES.map(({ value }) => codeIn(value)).join("\n");
  expect(code).not.toMatch(/npm install @?promptd/);
  expect(codeIn("cli")).toMatch(/^# Run this in a checkout of promptd, after npm ci\n/);
  expect(codeIn("typescript")).toContain("npm install CHECKOUT/tarballs/promptd-client-*.tgz");
});

test("TypeScript reads the photos from files", async () => {
  const flags = ["--conditions=promptd-source", "--input-type=module-typescript", "--eval", codeIn("typescript")];
  expect(await output(process.execPath, flags)).toContain("succeeded");
  await expectRun();
});

test.runIf(spawnSync("python3", ["--version"]).status === 0)(
  "Python reads the photos with its standard library",
  async () => {
    expect(await output("python3", ["-c", codeIn("python")])).toContain("succeeded");
    await expectRun();
  },
);

test("the agent setup is one command, and everything else is a comment", async () => {
  const lines = codeIn("mcp").split("\n");
  expect(lines.filter((line) => line !== "" && !line.startsWith("#"))).toEqual([
    `claude mcp add --transport http promptd ${server.url}/mcp \\`,
    '  --header "Authorization: Bearer $PROMPTD_API_KEY"',
  ]);
});
