/** The code that the console shows of a run does it, as it is copied, beside a photo. */
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

/** What shells, JSON and Python would take for something else. */
const WORDS = 'It\'s $HOME, `date` \\n \\ "quoted" $(date) ${PATH}\nJSON\n\'\'\'""" ’ü';

/** What a phone takes has megabytes, and the name of a file any letter. */
const PIXELS = 830;
const PHOTO = writePng(
  { width: PIXELS, height: PIXELS, depth: 8, colour: 2 },
  Buffer.concat(Array.from({ length: PIXELS }, () => Buffer.concat([Buffer.alloc(1), randomBytes(3 * PIXELS)]))),
);
const NAME = "IMG 1's $1 `x`.png";

/** Starts a program where the photo is; it ends well, or this throws with what it wrote. */
const start = promisify(execFile);

let server: TestServer;
let caller: TestCaller;
let directory: string;
let call: RunCall;
beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller();
  // Inside the package, so that the program finds the client.
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

/** The inputs arrived whole: as the sandbox repeats them, and as the run has stored them. */
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

test("curl sends two photos of 2 MB, in every shell that is here", async () => {
  expect(PHOTO.length).toBeGreaterThan(2_000_000);
  for (const shell of ["sh", "bash"]) {
    const { status } = JSON.parse(await output(shell, ["-c", codeIn("curl")])) as { status: string };
    expect([shell, status]).toEqual([shell, "SUCCESS"]);
    await expectRun();
  }
});

test("curl sends texts alone as they are", async () => {
  const { promptVersionId } = await server.publish(PROMPT.replace(/images:\n.*\n.*\n/, ""));
  const texts = { words: WORDS };
  const answer = await output("sh", ["-c", codeIn("curl", { promptVersionId, texts, images: [], options: {} })]);
  expect((JSON.parse(answer) as { data: { outputs: { data: string }[] } }).data.outputs[0]?.data).toContain(WORDS);
});

test("no line installs a package of a name that no registry has", () => {
  const code = LANGUAGES.map(({ value }) => codeIn(value)).join("\n");
  expect(code).not.toMatch(/npm install @?promptd/);
  expect(codeIn("cli")).toMatch(/^# Run this in a checkout of promptd, after npm ci\n/);
  expect(codeIn("typescript")).toContain("npm install CHECKOUT/tarballs/promptd-client-*.tgz");
});

test("TypeScript reads the photos from their files", async () => {
  const flags = ["--conditions=promptd-source", "--input-type=module-typescript", "--eval", codeIn("typescript")];
  expect(await output(process.execPath, flags)).toContain("succeeded");
  await expectRun();
});

test.runIf(spawnSync("python3", ["--version"]).status === 0)(
  "Python reads them with its standard library",
  async () => {
    expect(await output("python3", ["-c", codeIn("python")])).toContain("succeeded");
    await expectRun();
  },
);

test("what an agent is set up with is one command, and all else of it a comment", async () => {
  const lines = codeIn("mcp").split("\n");
  expect(lines.filter((line) => line !== "" && !line.startsWith("#"))).toEqual([
    `claude mcp add --transport http promptd ${server.url}/mcp \\`,
    '  --header "Authorization: Bearer $PROMPTD_API_KEY"',
  ]);
});
