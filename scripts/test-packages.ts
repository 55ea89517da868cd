/**
 * What a user gets: the tarballs of a release, installed into empty folders and used there. `npm run test:packages`
 * builds and packs first. With a folder of tarballs as argument it takes those. Needs a registry for the dependencies.
 * `PROMPTD_TEST_NODES=20,24` chooses among the versions of Node.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { ACCOUNT_HEADER } from "@promptd/contract/manage";
import { CLIENT_BYTES_MAX, measureClient } from "./build-client.ts";
import { packPackages } from "./pack-packages.ts";
import {
  clientProgram,
  expectOutcome,
  findImagePrompt,
  PNG_BASE64,
  type ServerToUse,
} from "./test-packages/client-program.ts";

const ROOT = join(import.meta.dirname, "..");
/** A release of each line that a package may be used with; the client's floor is the first. */
const NODES: Readonly<Record<string, string>> = { "20": "20.20.2", "22": "22.23.3", "24": "24.21.0" };

const home = mkdtempSync(join(tmpdir(), "promptd-packages-"));
/** Nothing here takes that long, but an installation from a slow registry. */
const COMMAND_MS_MAX = 180_000;
const children = new Set<ChildProcess>();
let failures = 0;

async function check(what: string, work: () => Promise<string | void> | string | void): Promise<void> {
  const startedMs = performance.now();
  const took = () => `${((performance.now() - startedMs) / 1_000).toFixed(1)} s`;
  try {
    const detail = (await work()) ?? "";
    console.log(`ok      ${what} (${took()})${detail === "" ? "" : `: ${detail}`}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED  ${what} (${took()}): ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface RunOptions {
  readonly cwd: string;
  /** The folder of the Node that is first on the path. */
  readonly node: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

function environmentOf({ node, env, cwd }: Omit<RunOptions, "input">): Record<string, string> {
  const path = [node, join(cwd, "node_modules/.bin"), process.env["PATH"] ?? ""].join(":");
  return { PATH: path, HOME: home, npm_config_update_notifier: "false", ...registryOf(process.env), ...env };
}

/** Where packages come from on this machine. */
function registryOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const found = Object.entries(env).filter(([name]) =>
    /^npm_config_(registry|cafile)$|^(HTTPS?_PROXY|NODE_EXTRA_CA_CERTS)$/i.test(name),
  );
  const userConfig = env["npm_config_userconfig"] ?? join(env["HOME"] ?? "", ".npmrc");
  return { ...(Object.fromEntries(found) as Record<string, string>), npm_config_userconfig: userConfig };
}

/** @returns standard output. @throws Error with all output when it does not end with 0. */
function run(command: string, args: readonly string[], options: RunOptions): string {
  return runWhole(command, args, options).stdout;
}

function runWhole(command: string, args: readonly string[], options: RunOptions) {
  const { cwd, input } = options;
  const ended = spawnSync(command, args, {
    cwd,
    input,
    env: environmentOf(options),
    encoding: "utf8",
    timeout: COMMAND_MS_MAX,
  });
  if (ended.status === 0) return ended;
  throw new Error(`${command} ${args.join(" ")} ended with ${ended.status}:\n${ended.stdout}${ended.stderr}`);
}

/** @param needNewer packages that npm must say need a newer Node; no others. */
function install(name: string, packages: readonly string[], node: string, needNewer: readonly string[] = []): string {
  const cwd = join(home, name);
  mkdirSync(cwd, { recursive: true });
  if (!existsSync(join(cwd, "package.json")))
    writeFileSync(join(cwd, "package.json"), '{"private":true,"type":"module"}\n');
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=warn"];
  const { stderr } = runWhole("npm", ["install", ...flags, ...packages], { cwd, node });
  const warned = [...stderr.matchAll(/EBADENGINE +package: '(.+)@/g)].map(([, found = ""]) => found).toSorted();
  if (warned.join() !== needNewer.join())
    throw new Error(`npm says that these need a newer Node: ${warned.join(", ")}.`);
  return cwd;
}

/** The folder with the program of a version of Node: this one, or a package that brings it. */
function findNode(major: string): string {
  if (process.versions.node.startsWith(`${major}.`)) return dirname(process.execPath);
  const version = NODES[major] ?? major;
  const cwd = install(
    `node-${major}`,
    [`node-${process.platform}-${process.arch}@${version}`],
    dirname(process.execPath),
  );
  return dirname(globSync("node_modules/node-*/bin/node", { cwd }).map((name) => join(cwd, name))[0] ?? "");
}

const CONSUMER = `
import { createClient, PromptdError, type RunTask } from "@promptd/client";
import { createManageClient } from "@promptd/client/manage";
declare module "@promptd/client" {
  interface KnownPrompts { "cat-poem": { inputs: { topic: string; tone?: "calm" | "loud" }; options: { quality?: string } } }
}
const client = createClient({ baseUrl: "http://127.0.0.1:1", apiKey: "pd_x" });
export const task: RunTask = client.run("cat-poem", { inputs: { topic: "tea", tone: "calm" } });
export const labeled = client.run("cat-poem@production", { inputs: { topic: "tea" } });
export const free = client.run("another", { inputs: { any: 1 } });
// @ts-expect-error -- a known prompt has no such input
export const wrong = client.run("cat-poem", { inputs: { topik: "tea" } });
// @ts-expect-error -- a known prompt needs its input
export const missing = client.run("cat-poem");
export const keys: Promise<readonly { readonly keyId: string }[]> = createManageClient({ baseUrl: "http://x", token: "pdm_x" })
  .send("listKeys")
  .then(({ rows }) => rows);
export const code = (error: PromptdError) => error.code;
`;
const COMPILER = {
  strict: true,
  module: "nodenext",
  target: "es2024",
  lib: ["es2024", "dom"],
  types: [],
  noEmit: true,
};

async function checkClient(tarball: string, majors: readonly string[], serving: Serving): Promise<void> {
  const cwd = install("client", [tarball], findNode("24"));
  await check("the client installs alone, without zod", () => {
    const names = globSync("node_modules/{*,@*/*}/package.json", { cwd }).map((name) => dirname(name));
    if (names.join() !== "node_modules/@promptd/client") throw new Error(`It brings ${names.join(", ")}.`);
  });
  await check("the client's types hold without any other package", () => {
    writeFileSync(join(cwd, "consumer.ts"), CONSUMER);
    writeFileSync(join(cwd, "tsconfig.json"), JSON.stringify({ compilerOptions: COMPILER, files: ["consumer.ts"] }));
    run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "."], { cwd, node: findNode("24") });
  });
  await check(`a page loads at most ${CLIENT_BYTES_MAX} bytes of the client, minified`, async () => {
    const { first, later } = await measureClient(join(cwd, "node_modules/@promptd/client/dist/index.js"));
    if (first > CLIENT_BYTES_MAX) throw new Error(`It loads ${first}.`);
    return `${first} bytes, and ${later} on demand`;
  });
  writeFileSync(join(cwd, "pixel.png"), Buffer.from(PNG_BASE64, "base64"));
  writeFileSync(join(cwd, "run.mjs"), clientProgram(serving, await findImagePrompt(serving)));
  for (const major of majors) {
    await check(`the client runs prompts on Node ${major}`, () =>
      expectOutcome(run("node", ["run.mjs"], { cwd, node: findNode(major) })),
    );
  }
  for (const [name, { packages, program, args }] of Object.entries(runtimes())) {
    await check(`the client runs prompts on ${name}`, () => {
      const node = findNode("24");
      const at = install(`runtime-${name}`, packages, node);
      const [found = ""] = globSync(program, { cwd: at });
      if (found === "") throw new Error(`${packages.join(", ")} has no program.`);
      return expectOutcome(run(join(at, found), [...args, "run.mjs"], { cwd, node }));
    });
  }
}

interface Runtime {
  readonly packages: readonly string[];
  readonly program: string;
  readonly args: readonly string[];
}

/** Other runtimes than Node, from their packages for this machine: without their installers, which would download more. */
function runtimes(): Readonly<Record<string, Runtime>> {
  if (process.platform !== "linux") return {};
  const { arch } = process;
  const [bun, deno] = [BUN_OF[arch], DENO_OF[arch]];
  return {
    ...(bun === undefined
      ? {}
      : { bun: { packages: [`${bun}@1.4.5`], program: "node_modules/@oven/*/bin/bun", args: ["run"] } }),
    ...(deno === undefined
      ? {}
      : { deno: { packages: [`${deno}@2.9.6`], program: "node_modules/@deno/*/deno", args: ["run", "-A"] } }),
  };
}

const BUN_OF: Partial<Record<string, string>> = {
  x64: "@oven/bun-linux-x64-baseline",
  arm64: "@oven/bun-linux-aarch64",
};
const DENO_OF: Partial<Record<string, string>> = { x64: "@deno/linux-x64-glibc", arm64: "@deno/linux-arm64-glibc" };

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // it has ended
  }
}

interface Serving extends ServerToUse {
  /** Signs the first operator in. */
  readonly welcome: string;
  readonly stop: () => Promise<void>;
}

/** Starts the server as `npx promptd serve` does, on data of its own. */
async function serve(cwd: string, node: string): Promise<Serving> {
  const env = {
    PORT: "0",
    PROMPTD_LOCAL_MODELS: "off",
    PROMPTD_SANDBOX_DIRECTIVES: "callers",
    PROMPTD_DATA_DIR: mkdtempSync(join(home, "data-")),
  };
  const child = spawn("npx", ["promptd", "serve", "--json"], {
    cwd,
    env: environmentOf({ cwd, node, env }),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // npx passes no signal on: its whole group gets them
  });
  children.add(child);
  let [output, errors] = ["", ""];
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const exit = once(child, "exit").then(([code, signal]: unknown[]) => String(code ?? signal));
  const ready = new Promise<string>((done) => {
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.trimEnd().endsWith("}")) done(output);
    });
  });
  const text = await Promise.race([
    ready,
    exit.then((how) => Promise.reject(new Error(`promptd ended with ${how}:\n${errors}`))),
  ]);
  const { url, demo, welcome } = JSON.parse(text) as {
    url: string;
    welcome: string;
    demo: { apiKey: string; promptVersionId: string; textInputs: Record<string, string> };
  };
  const stop = async () => {
    signalGroup(child, "SIGTERM");
    const how = await exit;
    children.delete(child);
    if (how !== "0" && how !== "SIGTERM") throw new Error(`It ended with ${how}:\n${errors}`);
  };
  return { url, apiKey: demo.apiKey, promptVersionId: demo.promptVersionId, inputs: demo.textInputs, welcome, stop };
}

async function checkServer(
  tarballs: readonly string[],
  major: string,
): Promise<{ cwd: string; serving: Serving | null }> {
  const node = findNode(major);
  let cwd = "";
  let serving: Serving | null = null;
  await check(`promptd installs on Node ${major}`, () => void (cwd = install(`server-${major}`, tarballs, node)));
  await check(`npx promptd serve starts on Node ${major}`, async () => void (serving = await serve(cwd, node)));
  await check(`its console is there on Node ${major}`, async () => {
    const page = await fetch(`${serving?.url}/`);
    const text = await page.text();
    const [script = ""] = /(?<=src=")\/assets\/[^"]+/.exec(text) ?? [];
    const loaded = await fetch(`${serving?.url}${script}`);
    if (page.status !== 200 || script === "" || loaded.status !== 200)
      throw new Error(`${page.status} ${loaded.status} ${text}`);
  });
  return { cwd, serving };
}

/** Somebody who has Node, the address of a server and a key: from an empty folder to a run. */
async function checkCaller(tarballs: readonly string[], { url, apiKey }: Serving): Promise<void> {
  const node = findNode("24");
  await check("the first minutes of a caller", () => {
    const cwd = install("caller", tarballs, node);
    const own = { cwd, node, env: { XDG_CONFIG_HOME: join(cwd, "config") } };
    const promptd = (args: readonly string[], input?: string) =>
      run("promptd", args, input === undefined ? own : { ...own, input });
    promptd(["login", url, "--token", "-"], apiKey);
    const { rows } = JSON.parse(promptd(["search", "summary", "--json"])) as {
      rows: { slug: string; configs: { textInputs: Record<string, { required: boolean }>; imageCount: number } }[];
    };
    const [row] = rows.filter(({ configs }) => configs.imageCount === 0);
    if (row === undefined) throw new Error("Nothing was found.");
    const [first = "", ...rest] = Object.keys(row.configs.textInputs).filter(
      (key) => row.configs.textInputs[key]?.required === true,
    );
    promptd(["show", row.slug]);
    const text = promptd(
      ["run", row.slug, `${first}=-`, ...rest.map((key) => `${key}=tea`)],
      "A long letter about tea.",
    );
    if (text.trim() === "") throw new Error("The run gave no text.");
    const refused = spawnSync("promptd", ["run", row.slug, "nosuch=1"], {
      cwd,
      env: environmentOf(own),
      encoding: "utf8",
    });
    if (refused.status !== 1 || !refused.stderr.includes("nothing was charged")) throw new Error(refused.stderr);
    promptd(["runs", "list"]);
    return `ran ${row.slug}`;
  });
}

const PROMPT_FILE = `---
promptd: 1
title: Tea note
slug: tea-note
model: sandbox/text
inputs: { topic: {} }
tests:
  - inputs: { topic: rain }
    expect: { contains: rain }
---
Write a note about {{ topic }}.
`;

/** Somebody with a folder of prompts and a management token: from an empty folder to a version that callers run. */
async function checkAuthor(tarballs: readonly string[], serving: Serving): Promise<void> {
  const node = findNode("24");
  const token = await createToken(serving);
  await check("the first minutes of an author", () => {
    const cwd = install("author", tarballs, node);
    writeFileSync(join(cwd, "tea.prompt.md"), PROMPT_FILE);
    const own = { cwd, node, env: { XDG_CONFIG_HOME: join(cwd, "config") } };
    const took: string[] = [];
    const promptd = (args: readonly string[], input?: string) => {
      const startedMs = performance.now();
      const output = run("promptd", args, input === undefined ? own : { ...own, input });
      const step = args[0] === "prompt" ? args[1] : args[0];
      took.push(`${step} ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
      return output;
    };
    promptd(["login", serving.url, "--token", "-"], token);
    promptd(["prompt", "check", "tea.prompt.md"]);
    const preview = promptd(["prompt", "preview", "tea.prompt.md", "-i", "topic=rain"]);
    if (!preview.includes("Write a note about rain.")) throw new Error(preview);
    promptd(["prompt", "test", "tea.prompt.md"]);
    promptd(["prompt", "push", "tea.prompt.md", "--write-id"]);
    promptd(["prompt", "publish", "tea.prompt.md", "--note", "First"]);
    if (!promptd(["run", "tea-note", "topic=rain"]).includes("a note about rain")) throw new Error("It did not run.");
    writeFileSync(
      join(cwd, "tea.prompt.md"),
      readFileSync(join(cwd, "tea.prompt.md"), "utf8").replace("a note", "a letter"),
    );
    if (!promptd(["prompt", "diff", "tea.prompt.md"]).includes("a letter")) throw new Error("The diff shows nothing.");
    promptd(["prompt", "publish", "tea.prompt.md"]);
    promptd(["prompt", "label", "tea-note", "production", "1"]);
    const answer = promptd(["run", "tea-note@production", "topic=rain"]);
    if (!answer.includes("a note about rain")) throw new Error(answer);
    const types = promptd(["types", "tea-note"]);
    if (!types.includes('"topic": string;')) throw new Error(types);
    promptd(["usage"]);
    promptd(["keys", "list"]);
    return took.join(", ");
  });
}

/** A host of agents that starts the command, and somebody who checks the server from outside. */
async function checkAgent(tarballs: readonly string[], { url, apiKey }: Serving): Promise<void> {
  const node = findNode("24");
  const cwd = install("agent", tarballs, node);
  const env = environmentOf({ cwd, node, env: { PROMPTD_URL: url, PROMPTD_API_KEY: apiKey } });
  await check("promptd mcp answers a host with its tools", () => expectTools("promptd", ["mcp"], { cwd, env }));
  await check("promptd conform finds nothing wrong", async () => {
    // Not awaited by a call that blocks: the log of the server has to be read meanwhile, or its pipe fills up.
    const child = spawn("promptd", ["conform", url, apiKey], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
    children.add(child);
    const chunks: string[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
    const [status]: unknown[] = await once(child, "close");
    children.delete(child);
    const report = chunks.join("");
    if (status !== 0) throw new Error(report);
    return report.trim().split("\n").at(-1);
  });
}

/** Speaks MCP with a program as a host does. */
async function expectTools(
  program: string,
  args: readonly string[],
  own: { readonly cwd: string; readonly env: Record<string, string> },
): Promise<void> {
  const child = spawn(program, args, { ...own, stdio: ["pipe", "pipe", "inherit"] });
  children.add(child);
  const clientInfo = { name: "packages", version: "1" };
  const messages = [
    { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/list", params: {} },
  ];
  for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  let output = "";
  for await (const chunk of child.stdout) {
    output += String(chunk);
    if (output.includes('"id":2')) break;
  }
  child.stdin.end();
  children.delete(child);
  if (!output.includes('"run_prompt"')) throw new Error(output);
}

/** What the console does: signs in with the link of the first start, and makes a token. */
async function createToken({ url, welcome }: Serving): Promise<string> {
  const json = { "content-type": "application/json", origin: url };
  const code = new URL(welcome).hash.slice(1);
  const signedIn = await fetch(`${url}/manage/v1/welcome`, {
    method: "POST",
    headers: json,
    body: JSON.stringify({ code }),
  });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const session = (await (await fetch(`${url}/manage/v1/session`, { headers: { cookie } })).json()) as {
    data: { accountId: string };
  };
  const scopes = ["prompts:read", "prompts:write", "keys:write", "credits:read"];
  const created = await fetch(`${url}/manage/v1/tokens`, {
    method: "POST",
    headers: { ...json, cookie, [ACCOUNT_HEADER]: session.data.accountId },
    body: JSON.stringify({ name: "laptop", scopes, expiresInDays: 1 }),
  });
  return ((await created.json()) as { data: { token: string } }).data.token;
}

async function main(): Promise<void> {
  const [given] = process.argv.slice(2);
  const out = given === undefined ? join(home, "tarballs") : resolve(given);
  if (given === undefined) {
    await check(
      "npm run build",
      () => void run("npm", ["run", "--silent", "build"], { cwd: ROOT, node: dirname(process.execPath) }),
    );
    await check("npm pack of each package", () => void packPackages(out));
  }
  const tarballs = globSync("*.tgz", { cwd: out }).map((name) => join(out, name));
  const clientTarball = tarballs.find((name) => name.includes("promptd-client-")) ?? "";
  const majors = (process.env["PROMPTD_TEST_NODES"] ?? Object.keys(NODES).join(",")).split(",");
  for (const major of majors.filter((one) => one !== "20")) {
    const { serving } = await checkServer(tarballs, major);
    if (serving === null) continue;
    if (major === majors.at(-1)) {
      await checkClient(clientTarball, majors, serving);
      await checkCaller(tarballs, serving);
      await checkAuthor(tarballs, serving);
      await checkAgent(tarballs, serving);
    }
    await check(`it stops on Node ${major}`, () => serving.stop());
  }
  if (majors.includes("20")) await checkLauncher(tarballs);
}

const TOOLS_PROGRAM = `
import { createClient } from "@promptd/client";
import { readChoice } from "@promptd/mcp/describe";
import { serveOnStdio } from "@promptd/mcp/stdio";
const client = createClient({ baseUrl: "http://127.0.0.1:1", apiKey: "pd_x" });
const source = { client, choice: readChoice(null, null), fetchFile: fetch, readImageFile: null };
await serveOnStdio({ source, version: "1" }, { signal: new AbortController().signal, onError: console.error });
`;

/** A Node that the server cannot run on: two of our packages say so when they are installed, and one sentence at the start. */
async function checkLauncher(tarballs: readonly string[]): Promise<void> {
  const node = findNode("20");
  let cwd = "";
  await check("promptd installs on Node 20 with two warnings, of the server and of itself", () => {
    cwd = install("server-20", tarballs, node, ["@promptd/server", "promptd"]);
  });
  const env = environmentOf({ cwd, node });
  await check("promptd says on Node 20 which Node it needs", () => {
    const ended = spawnSync("promptd", ["--version"], { cwd, env, encoding: "utf8", timeout: COMMAND_MS_MAX });
    if (ended.status !== 1 || !ended.stderr.startsWith("promptd needs Node 22.19 or newer; this is v20"))
      throw new Error(ended.stderr);
  });
  await check("the tools for agents are served on Node 20", async () => {
    writeFileSync(join(cwd, "tools.mjs"), TOOLS_PROGRAM);
    await expectTools("node", ["tools.mjs"], { cwd, env });
  });
}

try {
  await main();
} finally {
  for (const child of children) signalGroup(child, "SIGKILL");
  rmSync(home, { recursive: true, force: true, maxRetries: 10 });
}
console.log(failures === 0 ? "All packages install and work." : `${failures} failed.`);
process.exitCode = failures === 0 ? 0 : 1;
