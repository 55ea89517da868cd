/** What a worker guarantees when something disturbs it: a sweep, a full pool, a response that arrives late or never. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Database } from "../../src/platform/database/database.ts";
import type { Worker } from "../../src/runs/work/worker.ts";
import { openEngine, type Engine } from "./engine-fixture.ts";
import { until } from "../support/promptd-process.ts";
import { createTestWorker, QUICK_LEASE_MS, silentFor, type TestWorkerOptions } from "./worker-fixture.ts";

let engine: Engine;
let worker: Worker | null = null;
let silence: AbortController;
beforeAll(async () => {
  engine = await openEngine();
});
beforeEach(() => {
  silence = new AbortController();
});
afterEach(async () => {
  silence.abort();
  await worker?.drain(0);
  worker = null;
  await engine.clear();
});
afterAll(() => engine.close());

async function startWorker(options: TestWorkerOptions): Promise<Worker> {
  worker = createTestWorker(engine, options);
  await worker.start();
  return worker;
}

/** A version that does not exist; the test decides when that is reported. */
function tellLater() {
  const { promise, resolve } = Promise.withResolvers<null>();
  return { answer: promise, tell: () => resolve(null) };
}

describe("a worker's lease", () => {
  test("survives a sweep that gets no response: heartbeats do not wait for it", async () => {
    const stuck = silentFor(engine.db, /run_(recover|fail_due|sweep)/, silence.signal);
    const { workerId } = await startWorker({ heartbeats: stuck, upkeep: stuck });
    const [{ began } = { began: "" }] = await engine.db.query<{ began: string }>("select promptd_now()::text as began");
    await until(async () => {
      const rows = await engine.db.query(
        "select 1 from workers where heartbeat_at > $1::timestamptz + make_interval(secs => $2::float8 / 1000)",
        [began, 2 * QUICK_LEASE_MS],
      );
      return rows.length === 1;
    });
    expect(worker?.workerId).toBe(workerId);
  });
});

describe("the runs of a dead worker", () => {
  test("are requeued even by a worker whose pool has no free connection", async () => {
    const runId = await engine.createRun(await engine.createAccount());
    const dead = await engine.registerWorker();
    await engine.claim(dead);
    await startWorker({ db: silentFor(engine.db, /./, silence.signal) });
    await until(async () => (await engine.stateOf(runId)).worker === null);
    expect(await engine.stateOf(runId)).toMatchObject({ attempt: 1, max_attempts: 3 });
  });
});

describe("a run that was released and claimed again by the same worker", () => {
  test("is not dropped by a late response about its previous attempt", async () => {
    const runId = await engine.createRun(await engine.createAccount());
    const [asked, again, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), tellLater()];
    let attempts = 0;
    const findVersion = async () => {
      attempts += 1;
      if (attempts === 1) {
        await asked.promise;
        throw Object.assign(new Error("the database is full"), { code: "53100" }); // the run is released
      }
      again.resolve();
      return told.answer;
    };
    const heartbeats = {
      ...engine.db,
      query: async <Row extends object>(...call: Parameters<typeof engine.db.query>) => {
        if (typeof call[0] === "string" || call[0].name !== "worker_lost") return engine.db.query<Row>(...call);
        asked.resolve();
        await until(async () => (await engine.stateOf(runId)).worker === null);
        const rows = await engine.db.query<Row>(...call);
        await again.promise; // the response arrives when the same worker has the run again
        return rows;
      },
    };
    await startWorker({ heartbeats, findVersion, leaseMs: 24_000 });
    await again.promise;
    await nextTurn();
    told.tell();
    await until(async () => (await engine.stateOf(runId)).status === "failed");
    expect(await engine.stateOf(runId)).toMatchObject({ attempt: 2, fail_reason: "version_missing" });
  });
});

describe("a worker that is asked to stop", () => {
  test("waits for no claim beyond its grace period, and releases what that claim took", async () => {
    const runId = await engine.createRun(await engine.createAccount());
    const noAnswer = silentFor(engine.db, /./, silence.signal);
    const db = {
      ...engine.db,
      query: async <Row extends object>(...call: Parameters<typeof engine.db.query>) => {
        const rows = await engine.db.query<Row>(...call);
        return typeof call[0] !== "string" && call[0].name === "run_claim" ? noAnswer.query<Row>(...call) : rows;
      },
    };
    const stopping = await startWorker({ db });
    await until(async () => (await engine.stateOf(runId)).attempt === 1);
    await stopping.drain(300);
    expect(await engine.stateOf(runId)).toMatchObject({ worker: null, attempt: 1, max_attempts: 4 });
    expect(await engine.db.query("select id from workers")).toEqual([]);
  });

  test("begins nothing that such a claim still brings in later", async () => {
    const runId = await engine.createRun(await engine.createAccount());
    const answer = Promise.withResolvers<void>();
    const begun: string[] = [];
    const db = {
      ...engine.db,
      query: async <Row extends object>(...call: Parameters<typeof engine.db.query>) => {
        const rows = await engine.db.query<Row>(...call);
        if (typeof call[0] !== "string" && call[0].name === "run_claim") await answer.promise;
        return rows;
      },
    };
    const findVersion = async (promptVersionId: string) => {
      begun.push(promptVersionId);
      return null;
    };
    const stopping = await startWorker({ db, findVersion });
    await until(async () => (await engine.stateOf(runId)).attempt === 1);
    await stopping.drain(0);
    answer.resolve();
    await nextTurn();
    expect(begun).toEqual([]);
  });

  test("releases its runs even while its pool has no free connection", async () => {
    const runId = await engine.createRun(await engine.createAccount());
    const taken = silentFor(engine.db, /./, silence.signal);
    let isFull = false;
    const db: Database = {
      ...engine.db,
      query: (...call) => (isFull ? taken : engine.db).query(...call),
    };
    const told = tellLater();
    const stopping = await startWorker({ db, findVersion: () => told.answer });
    await until(() => stopping.running === 1);
    isFull = true;
    const left = stopping.drain(0);
    await until(async () => (await engine.stateOf(runId)).worker === null);
    told.tell();
    await left;
    expect(await engine.stateOf(runId)).toMatchObject({ worker: null, attempt: 1, max_attempts: 4 });
  });
});
