/** A worker that was too slow: its lease expired during a claim or a run, and others have its runs now. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { StoredFile } from "../../src/files/index.ts";
import { createLog } from "../../src/platform/log.ts";
import type { Database, Queryable } from "../../src/platform/database/database.ts";
import { createClaimer } from "../../src/runs/work/claim-loop.ts";
import { saveDelivered } from "../../src/runs/work/output-items.ts";
import { createFinisher } from "../../src/runs/work/finish.ts";
import type { ClaimedRun } from "../../src/runs/work/claim.ts";
import type { RunResult } from "../../src/runs/work/run-outcome.ts";
import { LEASE_MS, letLeaseEnd, openEngine, type Engine } from "./engine-fixture.ts";
import { until } from "../support/promptd-process.ts";

const log = createLog("silent", "stderr");
let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

/** Lets the lease of one worker expire and another process notice. */
async function sweep(workerId: string): Promise<void> {
  await letLeaseEnd(engine, workerId);
  await engine.sweep();
}

const FILE: StoredFile = {
  kind: "stored",
  fileId: "01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a",
  url: "https://example.org/files/one.png",
  bytes: 1,
  mediaType: "image/png",
  sha256: "0".repeat(64),
  keyId: 1,
  generatedAtMs: 0,
  expiresAtMs: 1,
};

describe("the end of a run that its worker has lost", () => {
  const END: RunResult = {
    ok: true,
    outputs: [{ type: "text", data: "late" }],
    credits: 9,
    reason: null,
    files: [FILE],
  };

  function openFinisher() {
    const [finished, recorded]: [string[], string[]] = [[], []];
    const finisher = createFinisher({
      db: engine.db,
      files: { recordOutputs: async (_tx, owner) => void recorded.push(owner.runId) },
      log,
      onWritten: () => {},
      onFinished: (runIds) => finished.push(...runIds),
    });
    return { finisher, finished, recorded };
  }

  test("writes nothing, records no file, charges nothing, and is reported as lost; the rest of its batch is written", async () => {
    const account = await engine.createAccount(100);
    const lost = await engine.createRun(account, { hold: 10 });
    const old = await engine.registerWorker();
    const [stale] = await engine.claim(old);
    await sweep(old);
    const now = await engine.registerWorker();
    const [current] = await engine.claim(now);
    const own = await engine.createRun(account, { hold: 10 });
    const slow = await engine.registerWorker();
    const [kept] = await engine.claim(slow);
    if (stale === undefined || current === undefined || kept === undefined) throw new Error("nothing was claimed");
    const before = await engine.stateOf(lost);
    const { finisher, finished, recorded } = openFinisher();
    const { signal } = new AbortController();
    const ends = await Promise.all([finisher.finish(stale, END, signal), finisher.finish(kept, END, signal)]);
    expect(ends).toEqual(["lost", "written"]);
    expect([finished, recorded]).toEqual([[own], [own]]);
    expect(await engine.stateOf(lost)).toEqual(before);
    expect(before).toMatchObject({ status: "running", worker: now, attempt: 2, credits: 0 });
    expect(await engine.finish(now, [current], { credits: 4 })).toEqual([lost]);
    expect(await engine.stateOf(lost)).toMatchObject({ status: "succeeded", credits: 4 });
    expect(await engine.audit()).toEqual([]);
  });

  test("is not even sent once the worker knows that the lease is lost, although its fence would still let it through", async () => {
    const account = await engine.createAccount(100);
    const runId = await engine.createRun(account, { hold: 10 });
    const worker = await engine.registerWorker();
    const [run] = await engine.claim(worker);
    if (run === undefined) throw new Error("nothing was claimed");
    const { finisher, finished } = openFinisher();
    expect(await finisher.finish(run, END, AbortSignal.abort())).toBe("lost");
    expect(finished).toEqual([]);
    expect(await engine.stateOf(runId)).toMatchObject({ status: "running", worker, credits: 0 });
  });
});

describe("an item that is delivered while its run is canceled", () => {
  async function deliverOne() {
    const account = await engine.createAccount();
    const runId = await engine.createRun(account);
    const workerId = await engine.registerWorker();
    const [run] = await engine.claim(workerId);
    if (run === undefined) throw new Error("nothing was claimed");
    const { signal } = new AbortController();
    const used = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, images: 0, seconds: 0, isEstimated: false };
    const output = { type: "text" as const, data: "late" };
    const item = { step: 0, item: 0, output, usage: { step: 0, usage: used }, file: null };
    return {
      save: (db: Queryable) => saveDelivered(db, run, item, signal),
      cancel: (db: Queryable) => db.query("select run_cancel($1, $2)", [account, runId]),
      saved: () => engine.db.query("select item from run_steps where run_id = $1", [runId]),
    };
  }
  const untilOneWaits = () =>
    until(async () => {
      const rows = await engine.db.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return rows.length > 0;
    });

  test.each(["save", "cancel"] as const)(
    "is deleted with the others, even when the %s commits first",
    async (first) => {
      const delivery = await deliverOne();
      const second = await engine.db.tx(async (tx) => {
        await delivery[first](tx);
        const other = delivery[first === "save" ? "cancel" : "save"](engine.db);
        await Promise.race([other, untilOneWaits()]);
        return { other };
      });
      await second.other;
      expect(await delivery.saved()).toEqual([]);
    },
  );
});

describe("a claim whose response outlives its lease", () => {
  /** The database with the responses to claims held back until they are released, as on a slow connection. */
  function holdAnswers() {
    const arrived = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const db: Database = {
      ...engine.db,
      query: async <Row extends object>(...call: Parameters<Database["query"]>) => {
        const rows = await engine.db.query<Row>(...call);
        if (typeof call[0] !== "string" && call[0].name === "run_claim") {
          arrived.resolve();
          await released.promise;
        }
        return rows;
      },
    };
    return { db, arrived: arrived.promise, release: () => released.resolve() };
  }

  test("begins none of its runs; the next claim, under the new id, begins each once", async () => {
    const account = await engine.createAccount(100);
    const ids = await Promise.all([1, 2, 3].map(() => engine.createRun(account, { hold: 5 })));
    const [old, next] = [await engine.registerWorker(), await engine.registerWorker()];
    const begun: ClaimedRun[] = [];
    const { db, arrived, release } = holdAnswers();
    const lease = { workerId: old, isHeld: true, start: async () => {}, stop: async () => {} };
    const claims = createClaimer({
      db,
      log,
      lease,
      leaseMs: LEASE_MS,
      free: () => 10 - begun.length,
      begin: (run) => begun.push(run),
      known: () => begun,
    });
    claims.wake();
    await arrived; // the database has given the runs to `old`
    expect(await engine.stateOf(ids[0] ?? "")).toMatchObject({ worker: old, attempt: 1 });
    await sweep(old);
    lease.workerId = next;
    release();
    await claims.untilIdle();
    await nextTurn();
    expect(begun).toEqual([]);
    claims.wake();
    await claims.untilIdle();
    expect(new Set(begun.map(({ runId, attempt }) => `${runId} ${attempt}`))).toEqual(
      new Set(ids.map((id) => `${id} 2`)),
    );
    expect(await engine.finish(next, begun, { credits: 5 })).toHaveLength(3);
    expect(await engine.audit()).toEqual([]);
  });
});

describe("runs that a worker holds without knowing it", () => {
  const SUSPECT_MS = 15_000;
  const REGULAR_MS = 30_000;
  const LOCKED = Object.assign(new Error("canceling statement due to lock timeout"), { code: "55P03" });

  let nowMs: number;
  beforeEach(() => {
    nowMs = 1_000;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  });
  afterEach(() => void vi.restoreAllMocks());

  /** A worker's claims on a database that fails as `faults` says, at a time the test chooses. */
  async function openClaims(faults: { afterClaim?: () => void; beforeClaim?: () => void; beforeLook?: () => void }) {
    const workerId = await engine.registerWorker();
    const begun: ClaimedRun[] = [];
    const db: Database = {
      ...engine.db,
      query: async <Row extends object>(...call: Parameters<Database["query"]>) => {
        const text = typeof call[0] === "string" ? call[0] : call[0].text;
        if (text.includes("run_claim(")) faults.beforeClaim?.();
        if (text.includes("run_release_unknown")) faults.beforeLook?.();
        const rows = await engine.db.query<Row>(...call);
        if (text.includes("run_claim(")) faults.afterClaim?.();
        return rows;
      },
    };
    const claims = createClaimer({
      db,
      log,
      lease: { workerId, isHeld: true, start: async () => {}, stop: async () => {} },
      leaseMs: LEASE_MS,
      free: () => 10 - begun.length,
      begin: (run) => begun.push(run),
      known: () => begun,
    });
    /** Lets the worker check and claim at a time. @returns what has begun so far: run and attempt. */
    const wakeAt = async (atMs: number) => {
      nowMs = atMs;
      claims.wake();
      await claims.untilIdle();
      return begun.map(({ runId, attempt }) => `${runId} ${attempt}`);
    };
    return { workerId, wakeAt };
  }

  /** Fails the first time with a lost connection. */
  function loseOnce() {
    let isLost = false;
    return () => {
      if (isLost) return;
      isLost = true;
      throw new Error("Connection terminated unexpectedly");
    };
  }

  test("are released however long the checks for them fail", async () => {
    const runId = await engine.createRun(await engine.createAccount());
    let isLocked = true;
    const { wakeAt } = await openClaims({
      afterClaim: loseOnce(),
      beforeLook: () => {
        if (isLocked) throw LOCKED;
      },
    });
    for (const ms of [0, 1_000, SUSPECT_MS, SUSPECT_MS + 5_000]) expect(await wakeAt(1_000 + ms)).toEqual([]);
    isLocked = false;
    expect(await wakeAt(1_000 + SUSPECT_MS + 6_000)).toEqual([`${runId} 2`]);
  });

  test("are released even when the claim reaches the database after checks that found nothing", async () => {
    const { workerId, wakeAt } = await openClaims({ beforeClaim: loseOnce() });
    for (const ms of [0, 1_000, SUSPECT_MS - 1]) expect(await wakeAt(1_000 + ms)).toEqual([]);
    const runId = await engine.createRun(await engine.createAccount());
    expect(await engine.claim(workerId)).toHaveLength(1);
    expect(await wakeAt(1_000 + SUSPECT_MS + 1_000)).toEqual([`${runId} 2`]);
  });

  test("are found regularly, whatever the cause, and keep their number of attempts", async () => {
    const { workerId, wakeAt } = await openClaims({});
    const runId = await engine.createRun(await engine.createAccount());
    await engine.claim(workerId);
    expect(await wakeAt(1_000)).toEqual([]);
    expect(await wakeAt(1_000 + REGULAR_MS)).toEqual([`${runId} 2`]);
    expect(await engine.stateOf(runId)).toMatchObject({ attempt: 2, max_attempts: 4 });
  });

  test("that are locked delay neither the others nor the next claim", async () => {
    const { workerId, wakeAt } = await openClaims({});
    const account = await engine.createAccount();
    const [locked, free] = [await engine.createRun(account), await engine.createRun(account)];
    await engine.claim(workerId);
    const waiting = await engine.createRun(account);
    await engine.db.tx(async (tx) => {
      await tx.query("select 1 from runs where id = $1 for update", [locked]);
      expect((await wakeAt(1_000 + REGULAR_MS)).toSorted()).toEqual([`${free} 2`, `${waiting} 1`].sort());
    });
    expect(await wakeAt(1_000 + 2 * REGULAR_MS)).toContain(`${locked} 2`);
  });
});
