/**
 * Follows the README's steps to a run on each provider. The table and the commands are read from the README.
 * Each provider is replaced through its base-URL setting, as an operator would do it: text and OpenAI images come from
 * @copilotkit/aimock; Gemini images, fal, and Replicate from our own server, which passes the rest on.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readShipped } from "../../server/src/models/catalogue/shipped.ts";
import { PNG } from "../../server/test/providers/provider-answers.ts";
import { startProviderDouble, type ProviderDouble } from "../../server/test/providers/provider-double.ts";
import {
  COMPILE_CACHE,
  killLeftovers,
  PROGRAM,
  startPromptd,
  type PromptdProcess,
} from "../../server/test/support/promptd-process.ts";
import { openShell, type Shell } from "./docs/programs.ts";

const execute = promisify(execFile);
const ROOT = join(import.meta.dirname, "../../..");
const README = await readFile(join(ROOT, "README.md"), "utf8");
const KEY = "sk-the-key-of-this-test-0123456789";
const TEXT = "Frost writes on glass, the kettle answers.";

/** One row of the README's table. */
interface Line {
  readonly variable: string;
  readonly files: readonly string[];
}

const section = sectionOf("Real models");
const LINES: Line[] = Array.from(section.matchAll(/^\| `([A-Z_]+)` \|[^|]*\|([^|]*)\|$/gm), ([, variable, files]) => ({
  variable: variable ?? "",
  files: Array.from((files ?? "").matchAll(/examples\/[\w.-]+/g), ([name]) => name),
}));
/** The second table: providers that are data entries. */
const DATA_LINES: Line[] = Array.from(
  section.matchAll(/^\| `([A-Z_]+)` \| [^|`]*`(examples\/[\w.-]+)` \|$/gm),
  (row) => ({
    variable: row[1] ?? "",
    files: [row[2] ?? ""],
  }),
);
const commands = Array.from(section.matchAll(/^(?:export|npx promptd) .*$/gm), ([line]) => line);
const [curl] = /^curl [^`]*/m.exec(sectionOf("The first request")) ?? [];

function sectionOf(title: string): string {
  return README.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? "";
}

/** What replaces each provider: the setting, and the path where the double serves its API. */
const PLACES: Readonly<Record<string, readonly [setting: string, path: string]>> = {
  OPENAI_API_KEY: ["OPENAI_BASE_URL", "/v1"],
  ANTHROPIC_API_KEY: ["ANTHROPIC_BASE_URL", "/v1"],
  GOOGLE_GENERATIVE_AI_API_KEY: ["GOOGLE_GENERATIVE_AI_BASE_URL", "/v1beta"],
  FAL_API_KEY: ["FAL_BASE_URL", "/fal"],
  REPLICATE_API_TOKEN: ["REPLICATE_BASE_URL", "/v1"],
  OPENAI_BASE_URL: ["OPENAI_BASE_URL", ""],
};

let directory: string;
let apiKey: string;
let shell: Shell;
/** The README's first section, once: a start without a provider creates the marketplace and the demo key. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "promptd-readme-"));
  await mkdir(join(directory, "bin"));
  const quick = `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`;
  await writeFile(join(directory, "bin/promptd"), quick, { mode: 0o755 });
  const dataDir = join(directory, "first/data");
  const serving = await startPromptd({ environment: { PROMPTD_DATA_DIR: dataDir, PROMPTD_SEED: "on" } });
  apiKey = (await readFile(join(dataDir, "demo-key"), "utf8")).trim();
  await serving.stop();
  await mkdir(join(directory, "shell"));
  shell = await openShell(join(directory, "shell"));
});
afterAll(async () => {
  await killLeftovers();
  await shell?.close();
  await rm(directory, { recursive: true, force: true });
});

/** A user who has come that far and has reached the table of providers. Several continue in parallel. */
async function createUser(variable: string): Promise<{ home: string; dataDir: string }> {
  const home = join(directory, variable);
  await mkdir(home);
  const dataDir = join(home, "data");
  await execute("cp", ["-a", join(directory, "first/data"), dataDir]); // thousands of small files
  return { home, dataDir };
}

interface StandIns {
  readonly double: ProviderDouble;
  stop(): Promise<void>;
}

async function startStandIns(): Promise<StandIns> {
  const mock = new LLMock({ port: 0 });
  await mock.start();
  const double = await startProviderDouble({ mockUrl: mock.url });
  double.finishJobs();
  mock.onMessage(/tea/, { content: TEXT });
  mock.onImage(/tea/, { image: { b64Json: PNG.toString("base64") } });
  return {
    double,
    stop: async () => {
      await double.close();
      await mock.stop();
    },
  };
}

interface Walk {
  readonly serving: PromptdProcess;
  /** The environment of the second terminal. */
  readonly environment: Readonly<Record<string, string>>;
  /** True: each command runs in its own process. Otherwise, promptd commands run inside this one, without a new process. */
  readonly inProcesses: boolean;
}

/** Runs a README command in a shell in the checkout, as if pasted. */
async function paste(command: string, { environment, inProcesses }: Walk): Promise<string> {
  if (!inProcesses) {
    const { code, output } = await shell.run(command, ROOT, environment);
    if (code !== 0) throw new Error(`It ended with ${code}: ${command}\n${output}`);
    return output;
  }
  const env = {
    PATH: `${join(directory, "bin")}:${join(ROOT, "node_modules/.bin")}:${process.env["PATH"]}`,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...environment,
  };
  const { stdout, stderr } = await execute("bash", ["-ec", command], { cwd: ROOT, env });
  return stdout + stderr.replaceAll(/^npm warn .*\n/gm, "");
}

const [exportKey = "", list = "", publish = "", run = ""] = commands;

/** Runs a command of the second terminal, in a shell that has the key. */
function pasteWithKey(command: string, steps: Walk): Promise<string> {
  return paste(`${exportKey.replace("<the demo key>", apiKey)}\n${command}`, steps);
}

/**
 * npx takes as long as the command itself, and so does loading the sources, so one command (the model list) tests them.
 * Without npx, the shell finds the same program in a few files.
 */
const withoutNpx = (command: string) => command.replace(/^npx /, "");

/** @returns the commands' output and the id of the published version. */
async function publishAndRun(file: string, steps: Walk, out: string): Promise<{ printed: string; id: string }> {
  const published = await pasteWithKey(withoutNpx(publish.replace(/examples\/[\w.-]+/, file)), steps);
  const id = /^[0-9a-f-]{36}/m.exec(published)?.[0] ?? "";
  const written = run.replace("<the id it printed>", id).replace("--out .", `--out ${out}`);
  return { printed: published + (await pasteWithKey(withoutNpx(written), steps)), id };
}

async function requestOverHttp(id: string, steps: Walk): Promise<string> {
  const request = (curl ?? "")
    .replace("http://127.0.0.1:8787", steps.serving.url)
    .replace("<the demo key>", apiKey)
    .replace("<from the printed request>", id);
  return paste(request, steps);
}

/** The beginning of each modality's output. */
const OUTPUTS: Readonly<Record<string, RegExp>> = {
  text: new RegExp(TEXT),
  image: /^\x89PNG/,
  video: /^....ftyp/s,
};

/** The printed output, or the first bytes of the saved file. */
async function readOutput(printed: string, out: string): Promise<string> {
  const [saved] = await readdir(out);
  return saved === undefined ? printed : (await readFile(join(out, saved))).toString("latin1", 0, 8);
}

test("the README names all six variables, every example, and the commands that this test can run", async () => {
  expect(LINES.map((line) => line.variable).sort()).toEqual(Object.keys(PLACES).sort());
  const examples = await readdir(join(ROOT, "examples"));
  const named = [...LINES, ...DATA_LINES].flatMap((line) => line.files);
  expect(named.sort()).toEqual(examples.map((name) => `examples/${name}`).sort());
  const servers = Object.values(readShipped().servers);
  const variables = new Set(DATA_LINES.map((line) => line.variable));
  expect(variables).toEqual(new Set(servers.map(({ apiKeyEnv }) => apiKeyEnv)));
  expect(commands.map((line) => line.split(" ").slice(0, 4).join(" "))).toEqual([
    "export PROMPTD_API_KEY=<the demo key>",
    "npx promptd models",
    "npx promptd admin prompt",
    "npx promptd run <the",
  ]);
  expect(section).toContain("OPENAI_API_KEY=sk-... npm start");
  expect(curl).toContain("/v1/runs");
});

describe.concurrent("the README's steps", () => {
  test.each(LINES)(
    "work with only $variable, and the key stays here",
    { timeout: 240_000 },
    async ({ variable, files }) => {
      const { home, dataDir } = await createUser(variable);
      const standIns = await startStandIns();
      const { double } = standIns;
      const [setting = "", path = ""] = PLACES[variable] ?? [];
      const provider = { [variable]: KEY, [setting]: double.url + path };
      const serving = await startPromptd({
        environment: { PROMPTD_DATA_DIR: dataDir, PROMPTD_SEED: "on", PROMPTD_LOG_LEVEL: "debug", ...provider },
      });
      const environment = { HOME: home, PROMPTD_DATA_DIR: dataDir, PROMPTD_URL: serving.url };
      const steps = { serving, environment, inProcesses: variable === LINES[0]?.variable };
      const outputs = [await pasteWithKey(list, steps)];
      for (const file of files) {
        const out = await mkdtemp(join(home, "out-"));
        const { printed, id } = await publishAndRun(file, steps, out);
        expect(await readOutput(printed, out)).toMatch(OUTPUTS[/-(\w+)\.prompt/.exec(file)?.[1] ?? ""] ?? /^$/);
        const answered = await requestOverHttp(id, steps);
        expect(JSON.parse(answered)).toMatchObject({ status: "SUCCESS", data: { runStatus: "succeeded" } });
        double.refuseAll(`Incorrect API key provided: ${KEY}`);
        const refused = await requestOverHttp(id, steps);
        double.refuseAll(null);
        expect(JSON.parse(refused)).toMatchObject({ data: { runStatus: "failed", outputs: [{ type: "error" }] } });
        outputs.push(printed, answered, refused);
      }
      const ended = await serving.stop();
      expect(ended.code).toBe(0);
      const requests = double.received.filter((request) => !request.path.endsWith("/models"));
      expect(requests.length).toBeGreaterThanOrEqual(2 * files.length);
      const isKeyless = variable === "OPENAI_BASE_URL";
      expect(requests.some((request) => JSON.stringify(request).includes(KEY))).toBe(!isKeyless);
      expect([...outputs, ...serving.log].filter((text) => text.includes(KEY))).toEqual([]);
      await standIns.stop();
    },
  );

  test("work with a key of a provider in the second table, and each key goes only to its provider", async () => {
    const { home, dataDir } = await createUser("DATA");
    const standIns = await startStandIns();
    const { double } = standIns;
    const { servers } = readShipped();
    const providers = Object.fromEntries(
      Object.entries(servers).map(([name, server]) => [name, { ...server, baseURL: `${double.url}/v1` }]),
    );
    const overlay = join(home, "models.json");
    await writeFile(overlay, JSON.stringify({ formatVersion: 1, providers }));
    const keys = Object.fromEntries(DATA_LINES.map(({ variable }) => [variable, `${KEY}-${variable}`]));
    const serving = await startPromptd({
      environment: { PROMPTD_DATA_DIR: dataDir, PROMPTD_SEED: "on", PROMPTD_MODELS_FILE: overlay, ...keys },
    });
    const environment = { HOME: home, PROMPTD_DATA_DIR: dataDir, PROMPTD_URL: serving.url };
    const steps = { serving, environment, inProcesses: false };
    const outputs = [];
    for (const { variable, files } of DATA_LINES) {
      const out = await mkdtemp(join(home, "out-"));
      const before = double.received.length;
      const { printed } = await publishAndRun(files[0] ?? "", steps, out);
      expect(await readOutput(printed, out), variable).toMatch(OUTPUTS["text"] ?? /^$/);
      const requests = double.received.slice(before);
      expect(requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}-${variable}`]);
      outputs.push(printed);
    }
    expect((await serving.stop()).code).toBe(0);
    expect([...outputs, ...serving.log].filter((text) => text.includes(KEY))).toEqual([]);
    await standIns.stop();
  }, 240_000);
});
