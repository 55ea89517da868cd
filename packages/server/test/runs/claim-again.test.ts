/** When a worker claims again: the end of a run queries the database only if a run waits for it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { createClaimer } from "../../src/runs/work/claim-loop.ts";
import type { ClaimedRun } from "../../src/runs/work/claim.ts";
import { LEASE_MS, openEngine, type Engine } from "./engine-fixture.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

interface Hold {
  /** The database has claimed. */
  readonly claimed: Promise<void>;
  release(): void;
}

/** A worker's claims, counted. */
async function openClaims(slots: number) {
  const workerId = await engine.registerWorker();
  const running: ClaimedRun[] = [];
  let claims = 0;
  let held: { claimed: () => void; released: Promise<void> } | null = null;
  const db: Database = {
    ...engine.db,
    query: async <Row extends object>(...call: Parameters<Database["query"]>) => {
      const isClaim = typeof call[0] !== "string" && call[0].name === "run_claim";
      const rows = await engine.db.query<Row>(...call);
      if (!isClaim) return rows;
      claims += 1;
      const hold = held;
      held = null;
      hold?.claimed();
      await hold?.released;
      return rows;
    },
  };
  const claimer = createClaimer({
    db,
    log: createLog("silent"),
    lease: { workerId, isHeld: true, start: async () => {}, stop: async () => {} },
    leaseMs: LEASE_MS,
    free: () => slots - running.length,
    begin: (run) => running.push(run),
    known: () => running,
  });
  return {
    running,
    countClaims: () => claims,
    wake: async () => {
      claimer.wake();
      await claimer.untilIdle();
    },
    /** Ends the oldest run, as its work does. */
    endOne: async () => {
      await engine.finish(workerId, running.splice(0, 1));
      claimer.onFreed();
      await claimer.untilIdle();
    },
    /** The same during a claim, whose end nobody waits for. */
    endMeanwhile: async () => {
      await engine.finish(workerId, running.splice(0, 1));
      claimer.onFreed();
    },
    /** Holds back the next claim's response. */
    holdNext: (): Hold => {
      const [claimed, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      held = { claimed: claimed.resolve, released: released.promise };
      return { claimed: claimed.promise, release: () => released.resolve() };
    },
    wakeOnly: () => claimer.wake(),
    untilIdle: () => claimer.untilIdle(),
  };
}

async function limitAccounts(runs: number): Promise<void> {
  await engine.db.query("insert into run_limits (scope, max_running) values ('account', $1)", [runs]);
}

describe("the end of a run", () => {
  test("claims nothing when the last claim left nothing waiting", async () => {
    const account = await engine.createAccount();
    const claims = await openClaims(10);
    for (let n = 1; n <= 3; n += 1) {
      await engine.createRun(account);
      await claims.wake();
      await claims.endOne();
      expect(claims.countClaims()).toBe(n);
    }
  });

  test("claims the run that waits for a slot on a full worker", async () => {
    const account = await engine.createAccount();
    const ids = [await engine.createRun(account), await engine.createRun(account)];
    const claims = await openClaims(1);
    await claims.wake();
    expect(claims.running.map(({ runId }) => runId)).toEqual([ids[0]]);
    await claims.endOne();
    expect(claims.running.map(({ runId }) => runId)).toEqual([ids[1]]);
  });

  test("claims the run that waits for room under its account's limit, even though slots were free", async () => {
    await limitAccounts(1);
    const account = await engine.createAccount();
    const ids = [await engine.createRun(account), await engine.createRun(account)];
    const claims = await openClaims(10);
    await claims.wake();
    expect(claims.running.map(({ runId }) => runId)).toEqual([ids[0]]);
    await claims.endOne();
    expect(claims.running.map(({ runId }) => runId)).toEqual([ids[1]]);
  });

  test("during a claim that did not see the room is not lost", async () => {
    await limitAccounts(1);
    const account = await engine.createAccount();
    const first = await engine.createRun(account);
    const claims = await openClaims(10);
    await claims.wake();
    expect(claims.running.map(({ runId }) => runId)).toEqual([first]);
    const second = await engine.createRun(account);
    const hold = claims.holdNext();
    claims.wakeOnly();
    await hold.claimed; // it found no room
    await claims.endMeanwhile();
    hold.release();
    await claims.untilIdle();
    expect(claims.running.map(({ runId }) => runId)).toEqual([second]);
  });

  test("claims again after a failed claim, because it is unknown what waits", async () => {
    const account = await engine.createAccount();
    const claims = await openClaims(10);
    await engine.createRun(account);
    await claims.wake();
    await engine.db.query("alter function run_waiting rename to run_waiting_away");
    await claims.wake();
    await engine.db.query("alter function run_waiting_away rename to run_waiting");
    const before = claims.countClaims();
    await claims.endOne();
    expect(claims.countClaims()).toBe(before + 1);
  });
});
