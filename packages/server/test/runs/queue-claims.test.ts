/** A claim gives each run to one worker, fairly and within the limits; the fence makes late reports ineffective. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { LeaseLost, stopClaiming } from "../../src/runs/work/claim.ts";
import { findLostRuns, removeWorker, sendHeartbeat } from "../../src/runs/work/lease.ts";
import { releaseRun, retryRun } from "../../src/runs/work/settle.ts";
import { cancelRunRow } from "../../src/runs/runs-store.ts";
import { createMany, idsOf, letLeaseEnd, openEngine, type Engine } from "./engine-fixture.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

async function limit(scope: string, runsMax: number): Promise<void> {
  await engine.db.query(
    "insert into run_limits values ($1, $2) on conflict (scope) do update set max_running = excluded.max_running",
    [scope, runsMax],
  );
}

describe("a claim", () => {
  test("takes the oldest runs of an account first, counts the attempt and shows the run as running", async () => {
    const account = await engine.createAccount();
    const ids = [];
    for (let i = 0; i < 4; i += 1) ids.push(await engine.createRun(account));
    const worker = await engine.registerWorker();
    const runs = await engine.claim(worker, 3);
    expect(idsOf(runs)).toEqual(ids.slice(0, 3));
    expect(await engine.stateOf(ids[0] ?? "")).toMatchObject({ status: "running", attempt: 1, worker });
    expect(await engine.stateOf(ids[3] ?? "")).toMatchObject({ status: "queued", attempt: 0, worker: null });
  });

  test("gives every run to exactly one of six workers that claim at once", async () => {
    const accounts = await Promise.all([1, 2, 3, 4, 5].map(() => engine.createAccount()));
    const created = (await Promise.all(accounts.map((account) => createMany(engine, account, 40)))).flat();
    const workers = await Promise.all(Array.from({ length: 6 }, () => engine.registerWorker()));
    const claimed: string[] = [];
    const claimAll = async (worker: string) => {
      for (let runs = await engine.claim(worker, 7); runs.length > 0; runs = await engine.claim(worker, 7)) {
        claimed.push(...idsOf(runs));
      }
    };
    await Promise.all(workers.map(claimAll));
    expect(claimed).toHaveLength(200);
    expect(new Set(claimed)).toEqual(new Set(created));
  });

  test("serves an account with one run in its first round, whatever the backlog of another", async () => {
    const [busy, small] = [await engine.createAccount(), await engine.createAccount()];
    await createMany(engine, busy, 300);
    const own = await engine.createRun(small);
    const worker = await engine.registerWorker();
    expect(idsOf(await engine.claim(worker, 2))).toContain(own);
  });

  test("never exceeds the limit of a model with six claimers, and a full model delays no other", async () => {
    await limit("model:sandbox/slow", 5);
    const accounts = await Promise.all([1, 2, 3].map(() => engine.createAccount()));
    await Promise.all(accounts.map((account) => createMany(engine, account, 10, "sandbox/slow")));
    await Promise.all(accounts.map((account) => createMany(engine, account, 10, "sandbox/text")));
    const workers = await Promise.all(Array.from({ length: 6 }, () => engine.registerWorker()));
    const claims = await Promise.all(workers.flatMap((worker) => [engine.claim(worker, 9), engine.claim(worker, 9)]));
    const models = claims.flat().map((run) => run.model);
    expect(models.filter((model) => model === "sandbox/slow")).toHaveLength(5);
    expect(models.filter((model) => model === "sandbox/text")).toHaveLength(30);
  });

  test("never exceeds the limit of an account: 50 by default, or its own limit", async () => {
    const [plain, tight] = [await engine.createAccount(), await engine.createAccount()];
    await limit(`account:${tight}`, 3);
    await Promise.all([createMany(engine, plain, 60), createMany(engine, tight, 60)]);
    const worker = await engine.registerWorker();
    const runs = [...(await engine.claim(worker)), ...(await engine.claim(worker))];
    expect(runs.filter((run) => run.accountId === plain)).toHaveLength(50);
    expect(runs.filter((run) => run.accountId === tight)).toHaveLength(3);
  });

  test("reaches a run behind more capped pairs than one claim scans, through its cursor", async () => {
    await limit("model:capped", 0);
    const accounts = await Promise.all(Array.from({ length: 320 }, () => engine.createAccount()));
    await Promise.all(accounts.map((account) => engine.createRun(account, { model: "capped" })));
    const last = accounts.toSorted().at(-1) ?? "";
    const wanted = await engine.createRun(last, { model: "sandbox/text" });
    const worker = await engine.registerWorker();
    const first = await engine.claimFrom(worker, 10, null);
    expect(first.runs).toEqual([]);
    expect(first.next).not.toBeNull();
    const second = await engine.claimFrom(worker, 10, first.next);
    expect(idsOf(second.runs)).toEqual([wanted]);
    expect(second.next).toBeNull();
  });

  test("is refused to a worker that was swept, is draining, or let its lease expire", async () => {
    const account = await engine.createAccount();
    await engine.createRun(account);
    const [swept, draining, late] = [
      await engine.registerWorker(),
      await engine.registerWorker(),
      await engine.registerWorker(),
    ];
    await removeWorker(engine.db, swept);
    await stopClaiming(engine.db, draining);
    await letLeaseEnd(engine, late);
    for (const worker of [swept, draining, late]) await expect(engine.claim(worker)).rejects.toThrow(LeaseLost);
  });

  test("skips a run that another transaction has locked, and waits for nothing", async () => {
    const account = await engine.createAccount();
    const [locked, free] = [await engine.createRun(account), await engine.createRun(account)];
    const worker = await engine.registerWorker();
    await engine.db.tx(async (tx) => {
      await tx.query("select 1 from runs where id = $1 for update", [locked]);
      expect(idsOf(await engine.claim(worker))).toEqual([free]);
    });
    expect(idsOf(await engine.claim(worker))).toEqual([locked]);
  });
});

describe("the fence", () => {
  /** A run that worker `old` lost to worker `now`: attempt 2 is in progress. */
  async function loseRun() {
    const account = await engine.createAccount(100);
    const runId = await engine.createRun(account, { hold: 10 });
    const [old, now] = [await engine.registerWorker(), await engine.registerWorker()];
    const stale = await engine.claim(old);
    await letLeaseEnd(engine, old);
    await engine.sweep();
    const current = await engine.claim(now);
    expect(current.map((run) => run.attempt)).toEqual([2]);
    return { account, runId, old, now, stale, current };
  }

  test("makes the finish, the retry, and the release of a worker that lost the run change nothing", async () => {
    const { runId, old, now, stale, current } = await loseRun();
    const before = await engine.stateOf(runId);
    const [run] = stale;
    if (run === undefined) throw new Error("nothing was claimed");
    expect(await engine.finish(old, stale, { credits: 9 })).toEqual([]);
    expect(await engine.finish(now, stale, { credits: 9 })).toEqual([]); // right worker, stale attempt
    expect(await engine.finish(old, current, { credits: 9 })).toEqual([]); // right attempt, stale worker
    expect(await retryRun(engine.db, run, 0)).toBe(false);
    expect(await releaseRun(engine.db, run, 0)).toBe(false);
    expect(await sendHeartbeat(engine.db, old)).toBe(false);
    expect(await findLostRuns(engine.db, old, stale)).toEqual([{ runId, attempt: 1 }]);
    expect(await findLostRuns(engine.db, now, current)).toEqual([]);
    expect(await engine.stateOf(runId)).toEqual(before);
    expect(await engine.finish(now, current, { credits: 4 })).toEqual([runId]);
    expect(await engine.stateOf(runId)).toMatchObject({ status: "succeeded", attempt: 2, credits: 4 });
    expect(await engine.audit()).toEqual([]);
  });

  test("lets a finish happen once: a second one changes nothing, even with a different outcome", async () => {
    const account = await engine.createAccount(100);
    const runId = await engine.createRun(account, { hold: 10 });
    const worker = await engine.registerWorker();
    const runs = await engine.claim(worker);
    expect(await engine.finish(worker, runs, { credits: 3 })).toEqual([runId]);
    expect(await engine.finish(worker, runs, { ok: false })).toEqual([]);
    expect(await engine.stateOf(runId)).toMatchObject({ status: "succeeded", credits: 3 });
    expect(await engine.audit()).toEqual([]);
  });

  test("keeps a canceled run canceled when its worker later reports success", async () => {
    const account = await engine.createAccount(100);
    const runId = await engine.createRun(account, { hold: 10 });
    const worker = await engine.registerWorker();
    const runs = await engine.claim(worker);
    expect(await cancelRunRow(engine.db, account, runId)).toBe("canceled_running");
    expect(await engine.finish(worker, runs, { credits: 3 })).toEqual([]);
    expect(await cancelRunRow(engine.db, account, runId)).toBe("finished");
    expect(await engine.stateOf(runId)).toMatchObject({ status: "failed", credits: 0, fail_reason: "canceled" });
    expect(await engine.audit()).toEqual([]);
  });

  test("finishes some of a batch, and skips the runs that were lost", async () => {
    const account = await engine.createAccount(100);
    const ids = await Promise.all([1, 2, 3].map(() => engine.createRun(account, { hold: 5 })));
    const worker = await engine.registerWorker();
    const runs = await engine.claim(worker);
    await cancelRunRow(engine.db, account, ids[1] ?? "");
    const written = await engine.finish(worker, runs, { credits: 5 });
    expect(new Set(written)).toEqual(new Set([ids[0], ids[2]]));
    expect(await engine.audit()).toEqual([]);
  });
});
