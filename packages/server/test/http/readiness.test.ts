/** When /readyz lets a load balancer send requests, and what it says if it does not. */
import { pino } from "pino";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/platform/database/database.ts";
import { createReadiness, watchReadiness } from "../../src/readiness.ts";
import { registerWorker, removeWorker } from "../../src/runs/work/lease.ts";
import { openTestDatabase, useTestDatabase } from "../support/test-database.ts";
import { startTestServer } from "../support/test-server.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));

const WORKER = "019a2b10-7a44-7e90-8b1d-5c2f9e7d3b18";

let lines: Record<string, unknown>[];
let state: {
  canStore: boolean;
  isShared: boolean;
  isLoaded: boolean;
  isWarmed: boolean;
  aheadMs: number;
  database: Pick<Database, "query">;
};
beforeEach(async () => {
  lines = [];
  await registerWorker(db, WORKER, "0.1.0");
  state = { canStore: true, isShared: false, isLoaded: true, isWarmed: false, aheadMs: 0, database: db };
});

function open(role: "api" | "all" | "worker" = "api") {
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line) as object as never) });
  return createReadiness({
    role,
    log,
    db: { ...db, query: (statement, values) => state.database.query(statement, values) },
    clock: { nowMs: () => Date.now() + state.aheadMs },
    files: { isReady: async () => state.canStore, isShared: state.isShared },
    search: { isLoaded: () => state.isLoaded, warm: async () => void (state.isWarmed = true) },
  });
}

const OK = { role: "api", database: "ok", clock: "ok", files: "ok", search: "ok", workers: "ok", degraded: [] };

describe("a process", () => {
  test.each([
    ["is ready when nothing is wrong", () => {}, {}],
    ["is ready with a clock 4 s off", () => (state.aheadMs = 4_000), {}],
    ["is not ready while files cannot be stored", () => (state.canStore = false), { files: "cannot be stored" }],
    ["is not ready while search is loading", () => (state.isLoaded = false), { search: "loading" }],
    [
      "is not ready with a clock 6 s ahead",
      () => (state.aheadMs = 6_000),
      { clock: expect.stringMatching(/^(6\.0|5\.\d) s ahead of the database's clock$/) as string },
    ],
    [
      "is not ready with a clock 6 s behind",
      () => (state.aheadMs = -6_000),
      { clock: expect.stringMatching(/^(6\.0|5\.\d) s behind the database's clock$/) as string },
    ],
  ])("%s", async (_what, change, problem) => {
    change();
    const { ready, details } = await open()();
    expect(details).toMatchObject({ ...OK, ...problem });
    expect(ready).toBe(Object.keys(problem).length === 0);
  });

  test("loads search as soon as somebody asks", async () => {
    await open()();
    expect(state.isWarmed).toBe(true);
  });

  test("stays ready while a shared bucket accepts no files, and reports that it is degraded", async () => {
    state.isShared = true;
    const check = open();
    state.canStore = false;
    const details = { ...OK, files: "cannot be stored", degraded: ["files"] };
    expect(await check()).toMatchObject({ ready: true, details });
    state.isLoaded = false;
    expect(await check()).toMatchObject({ ready: false, details: { ...details, search: "loading" } });
    [state.isLoaded, state.canStore] = [true, true];
    expect(await check()).toMatchObject({ ready: true, details: OK });
    expect(lines.map(({ msg }) => msg)).toEqual(["ready, but degraded", "not ready", "ready again"]);
  });

  test("for the API stays ready while no worker runs, and logs once that none runs and once that a worker is back", async () => {
    const check = open();
    await removeWorker(db, WORKER);
    const workers = "no worker is running; runs wait until a process with the role worker or all is started";
    for (let i = 0; i < 3; i += 1)
      expect(await check()).toMatchObject({ ready: true, details: { workers, degraded: ["workers"] } });
    await registerWorker(db, WORKER, "0.1.0");
    for (let i = 0; i < 3; i += 1) expect(await check()).toMatchObject({ ready: true, details: OK });
    expect(lines).toMatchObject([{ level: 40, workers, msg: "ready, but degraded" }, { msg: "ready again" }]);
  });

  test("does not count workers that have been silent for longer than any lease", async () => {
    await db.query("update workers set heartbeat_at = promptd_now() - interval '61 s'");
    expect(await open()()).toMatchObject({ ready: true, details: { degraded: ["workers"] } });
  });

  test("that is only a worker needs no search, and loads none", async () => {
    state.isLoaded = false;
    const { ready, details } = await open("worker")();
    expect([ready, Object.hasOwn(details, "search"), state.isWarmed]).toEqual([true, false, false]);
  });

  test("that is itself a worker does not report on other workers", async () => {
    await removeWorker(db, WORKER);
    const { ready, details } = await open("all")();
    expect([ready, Object.hasOwn(details, "workers"), details.degraded]).toEqual([true, false, []]);
  });

  test("logs problems even if nobody asks, until it is closed", async () => {
    await removeWorker(db, WORKER);
    const stop = watchReadiness(open(), 1);
    await expect.poll(() => lines).toMatchObject([{ msg: "ready, but degraded" }]);
    await registerWorker(db, WORKER, "0.1.0");
    await expect.poll(() => lines).toMatchObject([{}, { msg: "ready again" }]);
    await stop();
  });

  test("reports a database that does not answer", async () => {
    state.database = { query: () => Promise.reject(new Error("connect ECONNREFUSED")) };
    expect(await open()()).toEqual({
      ready: false,
      details: { role: "api", database: "unreachable", files: "ok", search: "ok", degraded: [] },
    });
    expect(lines).toMatchObject([{ msg: "not ready", database: "unreachable", reason: "connect ECONNREFUSED" }]);
  });

  test("is not ready when its database server becomes a standby, and opens a new connection for the next check", async () => {
    const one = await openTestDatabase({ poolMax: 1 });
    onTestFinished(() => one.close());
    state.database = one.db;
    await registerWorker(one.db, WORKER, "0.1.0");
    await one.db.query("set default_transaction_read_only = on"); // for this connection, as on a demoted server
    const check = open();
    expect(await check()).toMatchObject({ ready: false, details: { database: "does not accept writes" } });
    expect(await check()).toMatchObject({ ready: true, details: OK });
    expect(lines).toMatchObject([{ msg: "not ready", database: "does not accept writes" }, { msg: "ready again" }]);
  });

  test("logs a problem once, however often it is checked, and logs once when it is gone", async () => {
    const check = open();
    state.aheadMs = 60_000;
    for (let i = 0; i < 3; i += 1) await check();
    state.aheadMs = 0;
    for (let i = 0; i < 3; i += 1) await check();
    expect(lines).toMatchObject([
      { msg: "not ready", clock: expect.stringMatching(/^(60\.0|59\.\d) s ahead of the database's clock$/) as string },
      { msg: "ready again" },
    ]);
  });
});

test("a server becomes ready on its own when its search is loaded", async () => {
  const server = await startTestServer({ role: "api" });
  onTestFinished(() => server.close());
  const askReadiness = async () => (await fetch(`${server.url}/readyz`)).status;
  await expect.poll(askReadiness).toBe(200);
});
