/** One call of a client's `run` makes one run, whatever lies between it and the server; counted in the database. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { createClient } from "@promptd/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { directedPrompt } from "../prompts/prompt-files.ts";
import { until } from "../support/promptd-process.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { openWay, type Trouble, type Way } from "./troubled-way.ts";

/** The clients' delays, shortened, but long enough that a restarting server is not called thousands of times. */
const PAUSE_MS = 10;
const ROOT = join(import.meta.dirname, "../../../..");

let server: TestServer;
let version = "";
beforeAll(async () => {
  // The runs are executed by a server that each test starts, so that it can be stopped.
  server = await startTestServer({ role: "api" });
  version = (await server.publish(directedPrompt())).promptVersionId;
});
afterAll(() => server.close());

/** Calls `run` once through a proxy. @returns the state of the run that it returns. */
type RunOnce = (caller: TestCaller, way: Way, behavior: string) => Promise<string>;

const withJavaScript: RunOnce = async ({ apiKey }, { url }, behavior) => {
  const delay = () => wait(PAUSE_MS);
  const client = createClient({ baseUrl: url, apiKey, delay, onWarning: () => {} }); // warnings that it is still trying
  const { runStatus } = await client.run(version, { inputs: { do: behavior }, retryForMs: 10_000_000 });
  return runStatus;
};

const PYTHON = `
import os, time
from promptd import Client
client = Client(os.environ["URL"], os.environ["KEY"], retry_for=10_000, sleep=lambda _: time.sleep(${PAUSE_MS / 1_000}))
print(client.run(os.environ["VERSION"], inputs={"do": os.environ["DO"]}).run_status)
`;

const withPython: RunOnce = async ({ apiKey }, { url }, behavior) => {
  const env = { URL: url, KEY: apiKey, VERSION: version, DO: behavior, PYTHONDONTWRITEBYTECODE: "1" };
  const child = spawn("python3", ["-W", "ignore:Still trying", "-c", PYTHON], {
    cwd: join(ROOT, "python"),
    env: { ...process.env, ...env },
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  expect(stderr).toBe("");
  return stdout.trim();
};

const hasPython = spawnSync("python3", ["--version"]).status === 0;
const CLIENTS: readonly (readonly [string, RunOnce])[] = [
  ["JavaScript", withJavaScript],
  ...(hasPython ? [["Python", withPython] as const] : []),
];

async function statesOfRuns({ accountId }: TestCaller): Promise<string[]> {
  const rows = await server.app.db.query<{ status: string }>("select status from runs where account_id = $1", [
    accountId,
  ]);
  return rows.map(({ status }) => status);
}

describe.each(CLIENTS)("one call of run in %s makes one run", (_, runOnce) => {
  test.each<[string, Trouble[], number[]]>([
    ["after a lost response", ["lost", "lost", "none"], [0, 0, 200]],
    ["after a proxy's bare 504", ["page", "page", "none"], [504, 504, 200]],
    ["in a storm of 429s", [...Array<Trouble>(30).fill("busy"), "none"], [...Array<number>(30).fill(429), 200]],
    ["after the server's own 504", ["hasty"], [504, 200]],
    ["after all of them", ["busy", "lost", "page", "hasty", "busy", "page"], [429, 0, 504, 504, 429, 504, 200]],
  ])("%s", async (_what, troubles, seen) => {
    const caller = await server.createCaller();
    const isHasty = troubles.includes("hasty");
    const all = await server.startAnother("all", isHasty ? { PROMPTD_SYNC_WAIT_MS: "200" } : {});
    const way = await openWay(all.listenUrl ?? "", [...troubles]);
    expect(await runOnce(caller, way, isHasty ? "delay=2000" : "delay=300")).toBe("succeeded");
    expect(way.seen.slice(0, seen.length)).toEqual(seen);
    expect(new Set(way.seen.slice(seen.length - 1))).toEqual(new Set([200]));
    expect(await statesOfRuns(caller)).toEqual(["succeeded"]);
    await all.close();
  });

  test("while the server stops and another one is started", async () => {
    const caller = await server.createCaller();
    const first = await server.startAnother("all");
    const way = await openWay(first.listenUrl ?? "", []);
    const ended = runOnce(caller, way, "delay=1500");
    await until(async () => (await statesOfRuns(caller))[0] === "running");
    way.target = null;
    await first.close();
    const second = await server.startAnother("all");
    way.target = second.listenUrl;
    expect(await ended).toBe("succeeded");
    expect(await statesOfRuns(caller)).toEqual(["succeeded"]);
    expect((await server.checkLedger()).mismatches).toEqual([]);
  });
});
