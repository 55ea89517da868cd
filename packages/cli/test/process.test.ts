import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { COMPILE_CACHE } from "../../server/test/support/promptd-process.ts";
import { createTestCertificate } from "../../server/test/support/test-certificate.ts";
import { setup } from "./fake-service.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

/** Fails the process as soon as it loads the server or an operator command's module. */
const NO_SERVER = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({ resolve(name, context, next) {
    if (/@promptd\\/server\\/(?!make-folder)/.test(name) || name.includes("/operator/")) throw new Error("loaded " + name);
    return next(name, context);
  } });
`)}`;

const PROGRAM = ["--conditions=promptd-source", "--import", NO_SERVER, MAIN];

function start(env: Record<string, string>, ...argv: string[]) {
  const child = spawn(process.execPath, [...PROGRAM, ...argv], {
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env, PATH: process.env["PATH"] ?? "" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, "close").then(([code]: unknown[]) => ({ code, stdout, stderr }));
  return { child, ended };
}

test("a command in its own process: a document on stdout, exit code 0, and the server is never loaded", async () => {
  const { env } = await setup({ "GET /v1/prompts/publish": { data: { rows: [] } } });
  expect(await start(env, "search", "tea", "--json").ended).toEqual({
    code: 0,
    stdout: '{\n  "rows": []\n}\n',
    stderr: "",
  });
});

/** Only root can become a user without a passwd entry. */
test.runIf(process.getuid?.() === 0)("a user without a home folder can use settings of the environment", async () => {
  const module = new URL("../src/user-config.ts", import.meta.url).href;
  const connection = '{ PROMPTD_URL: "http://127.0.0.1:1", PROMPTD_API_KEY: "pd_key" }';
  const script = `const { readConnection } = await import("${module}");
    process.setuid(54_321);
    console.log((await readConnection(${connection})).apiKey);`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--conditions=promptd-source", "--input-type=module", "--eval", script],
    { env: { PATH: process.env["PATH"] ?? "" } },
  );
  expect(stdout).toBe("pd_key\n");
});

test("a failure in its own process: nothing on stdout, a sentence on stderr, exit code 1", async () => {
  const error = { code: "UNAUTHORIZED_ERROR", message: "No such key." };
  const { env } = await setup({ "GET /v1/me": { status: 401, error } });
  const { code, stdout, stderr } = await start(env, "me", "--json").ended;
  expect([code, stdout, stderr.split("\n")[0]]).toEqual([1, "", "No such key."]);
});

test("Ctrl-C ends a waiting command, which has said what it waits for, with exit code 130", async () => {
  const error = { code: "TOO_MANY_REQUESTS_ERROR", message: "m" };
  const { env } = await setup({ "GET /v1/me": { status: 429, error, headers: { "retry-after": "50" } } });
  const { child, ended } = start(env, "me");
  await once(child.stderr, "data");
  child.kill("SIGINT");
  expect(await ended).toEqual({ code: 130, stdout: "", stderr: "Still trying. m\nStopped by SIGINT.\n" });
});

test("a reader that exits early is not a failure", async () => {
  const rows = Array.from({ length: 5_000 }, (_, index) => ({
    runId: String(index),
    runStatus: "succeeded",
    credits: 1,
    createdAt: "2026-11-20T10:15:30.123Z",
    runName: "x".repeat(100),
  }));
  const { env } = await setup({ "GET /v1/runs": { data: { rows, hasMore: false } } });
  const { child, ended } = start(env, "runs", "list");
  child.stdout.once("data", () => child.stdout.destroy());
  expect(await ended).toMatchObject({ code: 0, stderr: "" });
});

test.runIf(existsSync("/dev/full"))("output that cannot be written is reported in one sentence", async () => {
  const { env } = await setup({ "GET /v1/prompts/publish": { data: { rows: [] } } });
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  const child = spawn(process.execPath, [...PROGRAM, "search", "tea"], { env, stdio: ["ignore", full, "pipe"] });
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  expect(await once(child, "close")).toEqual([1, null]);
  expect(stderr).toBe("Standard output cannot be written: the disk is full. Free some space on it.\n");
});

test("a command continues when nobody reads its notes anymore", async () => {
  const error = { code: "TOO_MANY_REQUESTS_ERROR", message: "m" };
  let requestCount = 0;
  const { env } = await setup({
    "GET /v1/prompts/publish": () =>
      (requestCount += 1) === 1 ? { status: 429, error, headers: { "retry-after": "5" } } : { data: { rows: [] } },
  });
  const { child, ended } = start(env, "search", "tea", "--json");
  child.stderr.destroy();
  expect(await ended).toMatchObject({ code: 0, stdout: '{\n  "rows": []\n}\n' });
});

test("the key can be passed on standard input", async () => {
  const { env } = await setup();
  const { PROMPTD_API_KEY: _, ...without } = env;
  const { child, ended } = start(without, "config", "set", "api-key", "-");
  child.stdin.end("pd_secret\n");
  expect(await ended).toMatchObject({ code: 0, stderr: "" });
  expect(await start(without, "config", "get", "api-key").ended).toMatchObject({ stdout: "pd_secret\n" });
});

test("a server whose certificate is not trusted: the message says how to trust it", async () => {
  const server = createServer(createTestCertificate(["localhost"])).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const { code, stderr } = await start({ PROMPTD_URL: url, PROMPTD_API_KEY: "pd_key" }, "me").ended;
  expect(code).toBe(1);
  expect(stderr).toContain(`No connection to ${url}: self-signed certificate`);
  expect(stderr).toContain("set NODE_EXTRA_CA_CERTS to a PEM file");
  expect(stderr).not.toContain("promptd serve");
});

test("mcp skips what is not a JSON-RPC message, says so in one line, and answers what follows", async () => {
  const { env } = await setup();
  const { child, ended } = start(env, "mcp");
  child.stdin.end(["not JSON", '{"id":1,"method":"ping"}', '{"jsonrpc":"2.0","id":2,"method":"ping"}', ""].join("\n"));
  const { code, stdout, stderr } = await ended;
  expect(JSON.parse(stdout)).toMatchObject({ id: 2 });
  expect([code, stderr]).toEqual([0, "Skipped a message on standard input that is not JSON-RPC 2.0.\n"]);
});
