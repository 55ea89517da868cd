/** promptd serve from the first start to Ctrl-C, with the embedded database, in its own processes. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createClient } from "@promptd/client";
import { createEmbeddedInstallation, isAlive, type EmbeddedInstallation } from "./embedded-installation.ts";
import { killLeftovers, readDocument, run, start, type Environment } from "./operator-process.ts";
import { PROGRAM, until } from "../../server/test/support/promptd-process.ts";

/** From util-linux: gives a program a terminal. */
const SCRIPT = "/usr/bin/script";
const execute = promisify(execFile);

let own: EmbeddedInstallation;
beforeEach(async () => {
  own = await createEmbeddedInstallation();
});
afterEach(() => own.remove());
afterAll(killLeftovers);

interface Serving {
  url: string | null;
  demo: { email: string; apiKey: string; promptVersionId: string; textInputs: Record<string, string> } | null;
}

const DOCUMENT_END = /^\}\n$/m;

/** Starts with --json and reads the document. */
async function serve(changes: Environment = {}, ...flags: string[]) {
  const running = start(["serve", "--json", ...flags], { ...own.environment, ...changes });
  const serving = JSON.parse(await running.printed(DOCUMENT_END)) as Serving;
  const stop = async (signal: NodeJS.Signals = "SIGINT") => {
    running.child.kill(signal);
    return running.ended;
  };
  return { running, serving, stop };
}

test("the first start prints the address, the demo key, and a request that works when pasted; the second start finds them again", async () => {
  const first = start(["serve"], own.environment);
  const printed = await first.printed(/^curl [^]*'\n$/m);
  const url = /^promptd listens on (http:\/\/127\.0\.0\.1:\d+)$/m.exec(printed)?.[1] ?? "";
  const key = /^Demo key: +(pd_\w{36})$/m.exec(printed)?.[1] ?? "";
  const curl = /^curl [^]*'$/m.exec(printed)?.[0] ?? "";
  expect(curl).toContain(key);
  expect(printed).toMatch(/^Demo account: +demo@promptd\.invalid$/m);
  const answer = JSON.parse((await execute("sh", ["-c", curl])).stdout) as {
    status: string;
    data: { runId: string; runStatus: string };
  };
  expect(answer).toMatchObject({ status: "SUCCESS", data: { runStatus: "succeeded" } });
  const { rows } = await createClient({ baseUrl: url, apiKey: key }).prompts.search("tea poem");
  expect(rows.length).toBeGreaterThan(0);
  const pid = await own.serverPid();
  first.child.kill("SIGINT");
  expect((await first.ended).code).toBe(0);
  expect(pid === null || (await isAlive(pid))).toBe(false);
  expect(await own.serverPid()).toBeNull();

  const { serving, stop } = await serve();
  expect(serving.demo).toMatchObject({ apiKey: key, email: "demo@promptd.invalid" });
  const client = createClient({ baseUrl: serving.url ?? "", apiKey: key });
  expect((await client.runs.get(answer.data.runId)).runStatus).toBe("succeeded");
  const { code, stdout } = await stop("SIGTERM");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual(serving);
  expect(await own.serverPid()).toBeNull();
});

test.skipIf(!existsSync(SCRIPT))("a person at a terminal first sees the link that opens the console", async () => {
  const program = [process.execPath, PROGRAM, "serve"].map((word) => `'${word}'`).join(" ");
  const env = {
    PATH: process.env["PATH"],
    HOME: "/nonexistent",
    PROMPTD_LOCAL_MODELS: "off",
    PROMPTD_LEASE_MS: "60000", // on a busy machine, a warning about a lost lease would come before the link
    ...own.environment,
  };
  const child = spawn(SCRIPT, ["-qfec", program, "/dev/null"], { env, stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(() => void child.kill());
  const ended = once(child, "close");
  const shown = Promise.withResolvers<string>();
  let screen = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    if (screen.includes("Demo key:")) shown.resolve(screen);
  });
  void ended.then(() => shown.reject(new Error(screen)));
  const [first, second] = (await shown.promise).split("\r\n");
  expect(first).toMatch(/^Open http:\/\/127\.0\.0\.1:\d+\/welcome#[\w-]{22}$/);
  expect(second).toMatch(/^promptd listens on http:/);
  child.kill("SIGTERM"); // its terminal closes with it
  await ended;
  await until(async () => !(await own.isServerRunning()));
});

test("Ctrl-C under npm start, which reaches npm and promptd and is also forwarded by npm, stops everything", async () => {
  const child = spawn("npm", ["start"], {
    cwd: join(import.meta.dirname, "../../.."),
    env: { ...process.env, ...own.environment, PROMPTD_SEED: "off" },
    detached: true, // its own process group, as in a terminal
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  onTestFinished(() => void child.kill()); // npm forwards it
  let output = "";
  const listens = Promise.withResolvers<void>();
  const hear = (chunk: Buffer): void => {
    output += chunk.toString();
    if (output.includes("promptd listens on")) listens.resolve();
  };
  for (const stream of [child.stdout, child.stderr]) stream.on("data", hear);
  await Promise.race([listens.promise, ended.then(() => Promise.reject(new Error(output)))]);
  const pid = await own.serverPid();
  process.kill(-(child.pid ?? 0), "SIGINT");
  await ended;
  await until(async () => (await own.serverPid()) === null);
  expect(pid === null || (await isAlive(pid))).toBe(false);
  expect(output).toContain("database stopped");
});

test("commands work on the embedded database of a running server, and take effect at once", async () => {
  const { serving, stop } = await serve({ PROMPTD_SEED: "off" });
  expect(serving).toEqual({
    welcome: expect.stringMatching(/\/welcome#[\w-]{22}$/),
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    publicUrl: null,
    demo: null,
  });
  const admin = <Document>(...words: string[]) => readDocument<Document>(["admin", ...words], own.environment, run);
  await admin("user", "create", "--email", "ada@example.org", "--credits", "3");
  const { keyId, apiKey } = await admin<{ keyId: string; apiKey: string }>(
    "key",
    "create",
    "--user",
    "ada@example.org",
  );
  const client = createClient({ baseUrl: serving.url ?? "", apiKey, maxRetries: 0 });
  expect(await client.me.credits()).toEqual({ credits: 3 });
  await admin("plan", "set", "--user", "ada@example.org", "--plan", "none");
  await expect(client.me.get()).rejects.toMatchObject({ code: "PAYMENT_REQUIRED_ERROR" });
  await admin("key", "revoke", keyId);
  await expect(client.me.get()).rejects.toMatchObject({ code: "UNAUTHORIZED_ERROR" });
  expect((await stop()).code).toBe(0);
  expect(await own.serverPid()).toBeNull();
});

test("a command in a directory without a database creates none, and says where it looked and what to set", async () => {
  const argv = ["admin", "user", "create", "--email", "ada@example.org", "--json"];
  const dataDir = join(own.directory, "data");
  expect(await run(argv, own.environment)).toEqual({
    code: 1,
    stdout: "",
    stderr: `The data directory ${dataDir} contains no promptd database, and none was created.
Set PROMPTD_DATA_DIR or DATABASE_URL to the server's value, or start a server there first: npx promptd serve
`,
  });
  expect(await readdir(own.directory)).toEqual([]);
});

test("a command starts the database when no server is running, prints only its document, and stops the database again", async () => {
  await run(["migrate"], own.environment);
  const argv = ["admin", "user", "create", "--email", "ada@example.org", "--json"];
  const { code, stdout } = await run(argv, { ...own.environment, PROMPTD_LOG_LEVEL: "debug" });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ email: "ada@example.org" });
  expect(await own.serverPid()).toBeNull();
  expect(await readDocument(["migrate"], own.environment, run)).toEqual({ applied: [] });
});

test("two simultaneous first starts on one data directory seed once, and both print the same key", async () => {
  const both = await Promise.all([serve(), serve()]);
  const [one, two] = both.map(({ serving }) => serving);
  expect(one?.demo?.apiKey).toMatch(/^pd_/);
  expect(two?.demo).toEqual(one?.demo);
  expect(two?.url).not.toBe(one?.url);
  const pid = await own.serverPid();
  await both[0]?.stop();
  expect(await own.serverPid()).toBe(pid); // the other one still needs it
  await both[1]?.stop();
  expect(await own.serverPid()).toBeNull();
});

describe("a startup that cannot succeed", () => {
  test("because the port is in use says so in one sentence, exits with 1, and creates nothing", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const flags = ["--port", String(port), "--json"];
    const { code, stdout, stderr } = await run(["serve", ...flags], { ...own.environment, PROMPTD_LOG_LEVEL: "error" });
    other.close();
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      `Port ${port} is in use on 127.0.0.1. Stop the program that uses it, or choose another port with PORT or --port.\n`,
    );
    expect(await readdir(own.directory)).toEqual([]);
  });

  test("because the data directory is a file says which", async () => {
    await writeFile(join(own.directory, "data"), "");
    const { code, stdout, stderr } = await run(["serve", "--json"], own.environment);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    const dataDir = join(own.directory, "data");
    expect(stderr).toBe(
      `The data directory ${dataDir} (PROMPTD_DATA_DIR) cannot be used: it is a file, not a folder. Choose another path.\n`,
    );
  });
});
