/** promptd serve on the operator's own PostgreSQL, in its own processes: roles, production, startup errors. */
import { stat } from "node:fs/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createClient } from "@promptd/client";
import { openConnection } from "../../server/src/platform/database/database.ts";
import { refuseWith } from "../../server/test/support/tcp-proxy.ts";
import {
  createInstallation,
  killLeftovers,
  readDocument,
  run,
  runHere,
  start,
  type Environment,
  type OwnDatabase,
} from "./operator-process.ts";
import { until } from "../../server/test/support/promptd-process.ts";

interface Serving {
  url: string | null;
  publicUrl: string | null;
  demo: { email: string; apiKey: string; promptVersionId: string; textInputs: Record<string, string> } | null;
}

let installation: OwnDatabase;
beforeEach(async () => {
  installation = await createInstallation();
});
afterEach(() => installation.remove());
afterAll(killLeftovers);

async function serve(changes: Environment = {}, ...flags: string[]) {
  const running = start(["serve", "--json", ...flags], { ...installation.environment, ...changes });
  const serving = JSON.parse(await running.printed(/^\}\n$/m)) as Serving;
  const stop = () => {
    running.child.kill("SIGTERM");
    return running.ended;
  };
  return { running, serving, stop };
}

async function ask<Row>(statement: string): Promise<Row[]> {
  const connection = openConnection(installation.url, "asking-test");
  await connection.connect();
  try {
    return (await connection.query(statement)).rows as Row[];
  } finally {
    await connection.end();
  }
}

const count = async (from: string) => (await ask<{ n: number }>(`select count(*)::int as n from ${from}`))[0]?.n ?? 0;

async function createKey(email: string, credits = 10): Promise<string> {
  const admin = (...words: string[]) =>
    readDocument<{ apiKey: string }>(["admin", ...words], installation.environment, runHere);
  await admin("user", "create", "--email", email, "--credits", String(credits));
  return (await admin("key", "create", "--user", email)).apiKey;
}

describe("roles", () => {
  test("an API and a worker in separate processes run a prompt together", async () => {
    const api = await serve({}, "--role", "api");
    const worker = await serve({}, "--role", "worker");
    expect(worker.serving).toEqual({ url: null, publicUrl: null, demo: null, welcome: null });
    const { promptVersionId = "", textInputs = {}, apiKey = "" } = api.serving.demo ?? {};
    const client = createClient({ baseUrl: api.serving.url ?? "", apiKey });
    expect(await client.runs.create({ promptVersionId, inputs: { textInputs } })).toMatchObject({
      runStatus: "succeeded",
    });
    const ends = await Promise.all([api.stop(), worker.stop()]);
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    expect(ends.map(({ stdout }) => JSON.parse(stdout))).toEqual([api.serving, worker.serving]);
  });

  test("models that the worker can call stay enabled even if the API process does not have the provider's key", async () => {
    const key = await createKey("ada@example.org");
    const worker = await serve({ OPENAI_API_KEY: "sk-nobody", PROMPTD_SEED: "off" }, "--role", "worker");
    const api = await serve({ PROMPTD_SEED: "off" }, "--role", "api");
    const { resources } = await createClient({ baseUrl: api.serving.url ?? "", apiKey: key }).resources.get();
    expect(resources.models.map(({ model }) => model)).toContain("openai/gpt-5.2");
    await Promise.all([api.stop(), worker.stop()]);
  });

  test("with another name are rejected", async () => {
    expect(await runHere(["serve", "--role", "boss"], installation.environment)).toEqual({
      code: 1,
      stdout: "",
      stderr: '--role must be one of all, api, worker, got "boss".\n',
    });
  });
});

describe("the marketplace", () => {
  test("is not created with PROMPTD_SEED=off; the text says how to give somebody access", async () => {
    const running = start(["serve"], { ...installation.environment, PROMPTD_SEED: "off", PROMPTD_LOG_LEVEL: "silent" });
    const text = await running.printed(/key create/);
    expect(text).toMatch(/^Open http:\S+\npromptd listens on http:\/\/127\.0\.0\.1:\d+\n/);
    expect(text).toContain("npx promptd admin user create --email");
    expect([await count("accounts"), await count("prompts"), await count("api_keys")]).toEqual([0, 0, 0]);
    running.child.kill("SIGTERM");
    await running.ended;
  });

  test("is empty in production, because its prompts run on the sandbox, which is off", async () => {
    const { serving, stop } = await serve({ NODE_ENV: "production" });
    expect(serving.demo).toBeNull();
    expect([await count("prompts"), await count("api_keys")]).toEqual([0, 0]);
    await stop();
  });

  test("in production with the sandbox has prompts, but no demo account, no key, and no file with a key", async () => {
    const { serving, stop } = await serve({ NODE_ENV: "production", PROMPTD_SANDBOX: "on" });
    expect(serving.demo).toBeNull();
    expect(await count("prompts")).toBeGreaterThanOrEqual(360);
    expect([await count("api_keys"), await count("accounts where pro_until > now()")]).toEqual([0, 0]);
    await expect(stat(join(installation.environment["PROMPTD_DATA_DIR"] ?? "", "demo-key"))).rejects.toThrow("ENOENT");
    await stop();
  });

  test("is published once when two processes with separate data directories start at once on one database", async () => {
    const PROMPTD_SECRET = "the same for all of one installation";
    const two = `${installation.environment["PROMPTD_DATA_DIR"]}-two`;
    const both = await Promise.all([serve({ PROMPTD_SECRET }), serve({ PROMPTD_SECRET, PROMPTD_DATA_DIR: two })]);
    const keys = both.flatMap(({ serving }) => serving.demo?.apiKey ?? []);
    expect(keys).toHaveLength(1);
    expect(await count("api_keys")).toBe(1);
    expect(await count("prompt_versions")).toBe(await count("prompts"));
    expect(await ask("select granted::int from (select sum(amount) as granted from credit_transfers) t")).toEqual([
      { granted: 10_000 },
    ]);
    await Promise.all(both.map(({ stop }) => stop()));
  });

  test("is not created, and startup continues, when the sandbox models it needs are switched off", async () => {
    const { serving, stop } = await serve({ PROMPTD_SANDBOX: "off" });
    expect(serving.demo).toBeNull();
    expect(await count("prompts")).toBe(0);
    await stop();
    const later = await serve();
    expect(later.serving.demo?.apiKey).toMatch(/^pd_/);
    await later.stop();
  });
});

describe("the printed address", () => {
  test.each([
    ["0.0.0.0", /^http:\/\/127\.0\.0\.1:\d+$/],
    ["localhost", /^http:\/\/localhost:\d+$/],
  ])("of a server that listens on %s can be called", async (host, form) => {
    const { serving, stop } = await serve({ PROMPTD_SEED: "off" }, "--host", host);
    const key = await createKey("ada@example.org", 7); // created by another process, but valid on the server at once
    expect(serving.url).toMatch(form);
    expect(await createClient({ baseUrl: serving.url ?? "", apiKey: key }).me.credits()).toEqual({ credits: 7 });
    await stop();
  });

  test("is where the server listens even when PROMPTD_PUBLIC_URL is set, which is printed next to it", async () => {
    const { serving, stop } = await serve({ PROMPTD_SEED: "off", PROMPTD_PUBLIC_URL: "https://prompts.example.org/" });
    expect(serving.publicUrl).toBe("https://prompts.example.org");
    const key = await createKey("ada@example.org", 7);
    expect(await createClient({ baseUrl: serving.url ?? "", apiKey: key }).me.credits()).toEqual({ credits: 7 });
    await stop();
  });

  test("is local to this machine when the server listens on all addresses, and the text says so", async () => {
    const changes = { HOST: "0.0.0.0", PROMPTD_SEED: "off", PROMPTD_LOG_LEVEL: "silent" };
    const running = start(["serve", "--role", "api"], { ...installation.environment, ...changes });
    await running.printed(
      /^promptd listens on http:\/\/127\.0\.0\.1:\d+\nOther machines can reach it too, but links begin with this address until /m,
    );
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
  });

  test("begins the suggested command, which works here and returns the public address to callers", async () => {
    const changes = { PROMPTD_PUBLIC_URL: "https://prompts.example.org", PROMPTD_LOG_LEVEL: "silent" };
    // No worker, so that the run is still in progress when the response with its URL arrives.
    const running = start(["serve", "--role", "api"], { ...installation.environment, ...changes });
    const text = await running.printed(/^curl [^]*'\n$/m);
    const url =
      /^promptd listens on (http:\/\/127\.0\.0\.1:\d+)\nClients reach it at https:\/\/prompts\.example\.org /m.exec(
        text,
      )?.[1];
    const command = text.slice(text.indexOf("curl"));
    expect(command).toContain(`curl -s ${url}/v1/runs `);
    const { stdout } = await promisify(execFile)("sh", [
      "-c",
      command.replace("curl -s", "curl -si -H 'Prefer: respond-async'"),
    ]);
    expect(stdout).toMatch(/^HTTP\/1\.1 202 /);
    expect(stdout).toMatch(/^location: https:\/\/prompts\.example\.org\/v1\/runs\//im);
    running.child.kill("SIGTERM");
    await running.ended;
  });
});

/** A database server that rejects everybody, as PostgreSQL does. */
async function refuse(code: string, message: string): Promise<{ port: number; server: Server }> {
  const server = createServer((socket) => refuseWith(socket, code, message));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, server };
}

describe("a startup that cannot succeed: one clear message, exit code 1, nothing on stdout", () => {
  test("bad settings, all at once, before anything is started", async () => {
    const changes = { PORT: "http", PROMPTD_SEDE: "off", DATABASE_URL: "mysql://root:hunter2@db/x" };
    expect(await runHere(["serve", "--json"], { ...installation.environment, ...changes })).toEqual({
      code: 1,
      stdout: "",
      stderr: `The configuration has 3 errors:
  - PROMPTD_SEDE is not a setting; did you mean PROMPTD_SEED?
  - PORT must be a port from 0 to 65535 (0 for any free port), got "http".
  - DATABASE_URL must be postgresql://user:password@host:5432/database.
`,
    });
  });

  test.each([["x"], ["65536"], ["-1"], [""]])("an invalid port is named as given: --port=%s", async (port) => {
    expect(await runHere(["serve", `--port=${port}`], installation.environment)).toEqual({
      code: 1,
      stdout: "",
      stderr: `--port must be a port from 0 to 65535 (0 for any free port), got "${port}".\n`,
    });
  });

  test("an unreachable database is named without its password", async () => {
    const changes = { DATABASE_URL: "postgresql://ada:hunter2@127.0.0.1:1/prompts" };
    expect(await runHere(["admin", "ledger", "check"], { ...installation.environment, ...changes })).toEqual({
      code: 1,
      stdout: "",
      stderr: `The database cannot be used: connect ECONNREFUSED 127.0.0.1:1.
Check that it is running, and check the address, database, user, and password that promptd uses.
DATABASE_URL points to 127.0.0.1:1, database "prompts", user "ada".
`,
    });
  });

  test.each([
    ["a wrong password", "28P01", 'password authentication failed for user "ada"', "the user and the password"],
    ["an unknown database", "3D000", 'database "prompts" does not exist', "Create the database"],
  ])("%s", async (_what, sqlState, reason, advice) => {
    const { port } = await refuse(sqlState, reason);
    const changes = { DATABASE_URL: `postgresql://ada:hunter2@127.0.0.1:${port}/prompts` };
    const { code, stdout, stderr } = await runHere(["serve", "--json"], { ...installation.environment, ...changes });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    const [first, second, ...rest] = stderr.split("\n");
    expect(first).toBe(`The database cannot be used: ${reason}.`);
    expect(second).toContain(advice);
    expect(rest).toEqual([`DATABASE_URL points to 127.0.0.1:${port}, database "prompts", user "ada".`, ""]);
  });

  test("an address that does not belong to this machine, and a port that is in use", async () => {
    const off = { PROMPTD_SEED: "off", PROMPTD_LOG_LEVEL: "error" };
    const elsewhere = await run(["serve", "--host", "192.0.2.1"], { ...installation.environment, ...off });
    expect(elsewhere).toEqual({
      code: 1,
      stdout: "",
      stderr: "192.0.2.1 is not an address of this machine. Choose another address with HOST or --host.\n",
    });
    const { port } = await refuse("x", "y");
    const taken = await run(["serve", "--port", String(port)], { ...installation.environment, ...off });
    expect(taken).toEqual({
      code: 1,
      stdout: "",
      stderr: `Port ${port} is in use on 127.0.0.1. Stop the program that uses it, or choose another port with PORT or --port.\n`,
    });
    const ours = "pg_stat_activity where datname = current_database() and application_name like 'promptd:all%'";
    await until(async () => (await count(ours)) === 0);
  });

  test("a data directory that is a file", async () => {
    const changes = { PROMPTD_DATA_DIR: join(import.meta.dirname, "start-database.test.ts") };
    const { code, stderr } = await runHere(["serve", "--json"], { ...installation.environment, ...changes });
    expect(code).toBe(1);
    expect(stderr).toContain("start-database.test.ts (PROMPTD_DATA_DIR) cannot be used: it is a file, not a folder.");
  });

  test("a secret that differs from the database's", async () => {
    const off = { PROMPTD_SEED: "off", PROMPTD_LOG_LEVEL: "error" };
    await (await serve(off)).stop();
    const PROMPTD_DATA_DIR = `${installation.environment["PROMPTD_DATA_DIR"]}-two`;
    const changes = { ...off, PROMPTD_DATA_DIR, PROMPTD_SECRET: "another secret than the first one" };
    const { code, stdout, stderr } = await run(["serve", "--json"], { ...installation.environment, ...changes });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^The server secret does not match the one that this database knows\./);
  });

  test("a database of a newer promptd", async () => {
    await ask("insert into schema_migrations (name, sha256) values ('9999-tomorrow', 'x')");
    const { code, stderr } = await runHere(["migrate", "--json"], installation.environment);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The database was migrated by a newer promptd, and older .* its migration 9999-tomorrow\. Start/,
    );
  });
});

test("only promptd migrate --replace-functions reverts SQL functions that a newer version changed", async () => {
  await ask("update schema_functions set version = '99.0.0'");
  await ask("update schema_functions set sha256 = 'other' where name = 'credits/sql/hold.sql'");
  const migrate = (...flags: string[]) => readDocument(["migrate", ...flags], installation.environment, runHere);
  expect(await migrate()).toEqual({ applied: [] });
  expect(await migrate("--replace-functions")).toEqual({ applied: ["credits/sql/hold.sql"] });
});

test("promptd migrate prints only the names it applied on stdout, and none the second time", async () => {
  await ask("drop schema public cascade");
  await ask("create schema public");
  const { code, stdout } = await run(["migrate", "--json"], {
    ...installation.environment,
    PROMPTD_LOG_LEVEL: "debug",
  });
  expect(code).toBe(0);
  const { applied } = JSON.parse(stdout) as { applied: string[] };
  const migrations = applied.filter((name) => !name.endsWith(".sql"));
  expect(migrations[0]).toBe("0001-platform");
  expect(migrations).toEqual(migrations.toSorted());
  expect(await readDocument(["migrate"], installation.environment, runHere)).toEqual({ applied: [] });
});
