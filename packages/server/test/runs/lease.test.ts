/** When a worker may declare others dead: soon, so that their runs continue soon, but never on its first contact. */
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { openDatabase, type Queryable } from "../../src/platform/database/database.ts";
import { createLog } from "../../src/platform/log.ts";
import { createLease, type Lease } from "../../src/runs/work/lease.ts";
import { recoverAtBoot } from "../../src/runs/work/sweep.ts";
import { openEngine, type Engine } from "./engine-fixture.ts";

const LEASE_MS = 12_000;

let engine: Engine;
let lease: Lease | null = null;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => lease?.stop());
afterAll(() => engine.close());

/** Starts a lease and records for each heartbeat whether others may be judged after it. */
async function startLease(heartbeats: Queryable, onHeartbeat: (mayJudge: boolean) => void): Promise<void> {
  lease = createLease({
    heartbeats: { ...engine.db, query: (statement, values) => heartbeats.query(statement, values) },
    log: createLog("silent", "stderr"),
    newId: engine.newId,
    leaseMs: LEASE_MS,
    onLost: () => {},
    onHeartbeat: async (mayJudge) => onHeartbeat(mayJudge),
  });
  await lease.start();
}

test("a new worker judges others before a whole lease has passed, so the runs of dead workers do not wait that long", async () => {
  const judged = Promise.withResolvers<void>();
  const startedMs = performance.now();
  await startLease(engine.db, (mayJudge) => (mayJudge ? judged.resolve() : undefined));
  await judged.promise;
  expect(performance.now() - startedMs).toBeLessThan(LEASE_MS); // it takes a twelfth
});

/** Fails the statement after `good` successes, and records when each was sent. */
function failOnce(good: number): { readonly beats: Queryable; readonly sentMs: number[] } {
  const sentMs: number[] = [];
  const query: Queryable["query"] = async (statement, values) => {
    sentMs.push(performance.now());
    if (sentMs.length === good + 1) throw new Error("the database is away");
    return engine.db.query(statement, values);
  };
  return { beats: { query }, sentMs };
}

test("a worker whose heartbeat failed judges nobody at the next one, because others could not send theirs either", async () => {
  const seen: boolean[] = [];
  const enough = Promise.withResolvers<void>();
  const { beats } = failOnce(2); // the registration and one beat succeed
  await startLease(beats, (mayJudge) => {
    seen.push(mayJudge);
    if (seen.length === 3) enough.resolve();
  });
  await enough.promise;
  expect(seen).toEqual([true, false, true]);
});

test("a failed heartbeat is sent again long before the next regular one", async () => {
  const again = Promise.withResolvers<void>();
  const { beats, sentMs } = failOnce(2);
  await startLease(beats, (mayJudge) => (mayJudge ? undefined : again.resolve()));
  await again.promise;
  const [, , failed = 0, repeated = 0] = sentMs;
  expect(repeated - failed).toBeLessThan(LEASE_MS / 3);
});

test("a worker with infrequent heartbeats is not declared dead by one that starts beside it, because its connection remains", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const log = createLog("silent", "stderr");
  const beats = await openDatabase({ url: engine.url, role: "beat", poolMax: 1, staysOpen: true, log });
  onTestFinished(() => beats.close());
  await startLease(beats, () => {});
  const backend = () => beats.query("select pg_backend_pid() as pid");
  const before = await backend();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await backend()).toEqual(before);
  await recoverAtBoot(engine.db);
  expect(await engine.db.query("select id from workers")).toContainEqual({ id: lease?.workerId });
});
