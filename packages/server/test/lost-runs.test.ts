/** A worker that was too slow: its lease ended while a claim or a run was under way, and others have its runs now. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { KeptFile } from "../src/files/index.ts";
import { createLog } from "../src/platform/log.ts";
import type { Database } from "../src/platform/database.ts";
import { createPump } from "../src/runs/claim-pump.ts";
import { createFinisher, type RunEnd } from "../src/runs/finish-runs.ts";
import { type ClaimedRun } from "../src/runs/queue.ts";
import { LEASE_MS, openEngine, type Engine } from "./engine-fixture.ts";

const log = createLog("silent", "stderr");
let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

/** Lets the lease of one worker end and another process notice. */
async function sweep(workerId: string): Promise<void> {
  await engine.db.query("update workers set beat_at = promptd_now() - interval '7 s' where id = $1", [workerId]);
  await engine.sweep();
}

const FILE: KeptFile = {
  kind: "kept",
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
  const END: RunEnd = {
    ok: true,
    outputs: [{ type: "text", data: "late" }],
    credits: 9,
    reason: null,
    files: [FILE],
  };

  function openFinisher(workerId: string) {
    const [finished, recorded]: [string[], string[]] = [[], []];
    const finisher = createFinisher({
      db: engine.db,
      files: { recordOutputs: async (_tx, owner) => void recorded.push(owner.runId) },
      log,
      workerId: () => workerId,
      onFinished: (runIds) => finished.push(...runIds),
    });
    return { finisher, finished, recorded };
  }

  test("writes nothing, records no file, charges nothing and is told as lost; the others of its batch are kept", async () => {
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
    const { finisher, finished, recorded } = openFinisher(slow);
    const { signal } = new AbortController();
    const ends = await Promise.all([finisher.finish(stale, END, signal), finisher.finish(kept, END, signal)]);
    expect(ends).toEqual(["lost", "kept"]);
    expect([finished, recorded]).toEqual([[own], [own]]);
    expect(await engine.stateOf(lost)).toEqual(before);
    expect(before).toMatchObject({ status: "running", worker: now, attempt: 2, credits: 0 });
    expect(await engine.finish(now, [current], { credits: 4 })).toEqual([lost]);
    expect(await engine.stateOf(lost)).toMatchObject({ status: "succeeded", credits: 4 });
    expect(await engine.audit()).toEqual([]);
  });

  test("is not even sent once the worker knows that the lease is lost, though its fence would still let it through", async () => {
    const account = await engine.createAccount(100);
    const runId = await engine.createRun(account, { hold: 10 });
    const worker = await engine.registerWorker();
    const [run] = await engine.claim(worker);
    if (run === undefined) throw new Error("nothing was claimed");
    const { finisher, finished } = openFinisher(worker);
    expect(await finisher.finish(run, END, AbortSignal.abort())).toBe("lost");
    expect(finished).toEqual([]);
    expect(await engine.stateOf(runId)).toMatchObject({ status: "running", worker, credits: 0 });
  });
});

describe("a claim whose answer outlives its lease", () => {
  /** The database with its claims' answers held back until they are let through, as on a slow connection. */
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
    const claims = createPump({
      db,
      log,
      lease,
      leaseMs: LEASE_MS,
      free: () => 10 - begun.length,
      begin: (run) => begun.push(run),
      known: () => begun,
    });
    claims.pump();
    await arrived; // the database has given the runs to `old`
    expect(await engine.stateOf(ids[0] ?? "")).toMatchObject({ worker: old, attempt: 1 });
    await sweep(old);
    lease.workerId = next;
    release();
    await claims.untilIdle();
    await nextTurn();
    expect(begun).toEqual([]);
    claims.pump();
    await claims.untilIdle();
    expect(new Set(begun.map(({ runId, attempt }) => `${runId} ${attempt}`))).toEqual(
      new Set(ids.map((id) => `${id} 2`)),
    );
    expect(await engine.finish(next, begun, { credits: 5 })).toHaveLength(3);
    expect(await engine.audit()).toEqual([]);
  });
});
