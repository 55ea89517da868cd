/** Runs that lose their worker go back to the queue, and end after their last attempt or at their deadline. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { removeWorker, sendHeartbeat } from "../../src/runs/work/lease.ts";
import { releaseRun, retryRun } from "../../src/runs/work/settle.ts";
import { createMany, idsOf, letLeaseEnd, openEngine, type Engine } from "./engine-fixture.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

describe("a run that goes back to the queue", () => {
  test("waits for its delay, is still shown as running, and counts its attempt", async () => {
    const account = await engine.createAccount();
    const runId = await engine.createRun(account);
    const worker = await engine.registerWorker();
    const [run] = await engine.claim(worker);
    if (run === undefined) throw new Error("nothing was claimed");
    expect(await retryRun(engine.db, run, 30_000)).toBe(true);
    expect(await engine.stateOf(runId)).toMatchObject({ status: "running", worker: null, attempt: 1, max_attempts: 3 });
    expect(await engine.claim(worker)).toEqual([]);
    await engine.shiftClock(31);
    await sendHeartbeat(engine.db, worker);
    expect((await engine.claim(worker)).map((one) => one.attempt)).toEqual([2]);
  });

  test("gets no more than three attempts, and none past its deadline", async () => {
    const account = await engine.createAccount();
    await engine.createRun(account);
    const worker = await engine.registerWorker();
    for (const attempt of [1, 2, 3]) {
      const [run] = await engine.claim(worker);
      if (run === undefined) throw new Error("nothing was claimed");
      expect(run.attempt).toBe(attempt);
      expect(await retryRun(engine.db, run, 0)).toBe(attempt < 3);
    }
    const late = await engine.createRun(account, { deadlineSeconds: 20 });
    const [run] = (await engine.claim(worker)).filter((one) => one.runId === late);
    if (run === undefined) throw new Error("nothing was claimed");
    expect(await retryRun(engine.db, run, 30_000)).toBe(false);
  });

  test("because of a drain keeps its number of attempts: ten drains cost it none", async () => {
    const account = await engine.createAccount();
    const runId = await engine.createRun(account);
    const worker = await engine.registerWorker();
    for (let i = 0; i < 10; i += 1) {
      const [run] = await engine.claim(worker);
      if (run === undefined) throw new Error("nothing was claimed");
      expect(await releaseRun(engine.db, run, 0)).toBe(true);
    }
    const state = await engine.stateOf(runId);
    expect(state.max_attempts - state.attempt).toBe(3);
  });
});

describe("the sweep", () => {
  test("requeues the runs of a dead worker at once, and leaves the runs of living workers alone", async () => {
    const account = await engine.createAccount();
    const [dead, alive] = [await engine.registerWorker(), await engine.registerWorker()];
    const lost = await createMany(engine, account, 3);
    await engine.claim(dead);
    const safe = await engine.createRun(account);
    await engine.claim(alive);
    await letLeaseEnd(engine, dead);
    const swept = await engine.sweep();
    expect(swept.requeued.toSorted()).toEqual(lost.toSorted());
    expect(swept.failed).toEqual([]);
    expect((await engine.stateOf(safe)).worker).toBe(alive);
    expect(idsOf(await engine.claim(alive)).sort()).toEqual(lost.sort());
  });

  test("requeues all runs of a dead worker at once, however many it had", async () => {
    const account = await engine.createAccount();
    const [one, dead] = [await engine.createRun(account), await engine.registerWorker()];
    await engine.db.query(
      `insert into runs (account_id, id, prompt_version_id, run_name, model, created_at, deadline_at, prices, inputs,
         status, attempt, worker)
       select account_id, gen_random_uuid(), prompt_version_id, run_name, model, created_at, deadline_at, prices, inputs,
         'running', 1, $2 from runs, generate_series(1, 1001) where id = $1`,
      [one, dead],
    );
    await letLeaseEnd(engine, dead);
    expect((await engine.sweep()).requeued).toHaveLength(1_001);
    await engine.db.query("delete from runs where account_id = $1", [account]); // faster than canceling each
  });

  test("fails a poison run after its third worker and releases its hold", async () => {
    const account = await engine.createAccount(100);
    const runId = await engine.createRun(account, { hold: 40 });
    for (const attempt of [1, 2, 3]) {
      const worker = await engine.registerWorker();
      expect((await engine.claim(worker)).map((run) => run.attempt)).toEqual([attempt]);
      await letLeaseEnd(engine, worker);
      const swept = await engine.sweep();
      expect(swept).toEqual(attempt < 3 ? { requeued: [runId], failed: [] } : { requeued: [], failed: [runId] });
    }
    expect(await engine.stateOf(runId)).toMatchObject({ status: "failed", credits: 0, fail_reason: "worker_lost" });
    expect(await engine.audit()).toEqual([]);
  });

  test("fails runs past their deadline, queued or running, and releases the holds", async () => {
    const account = await engine.createAccount(100);
    const running = await engine.createRun(account, { hold: 10, deadlineSeconds: 60 });
    const worker = await engine.registerWorker();
    const runs = await engine.claim(worker);
    const waiting = await engine.createRun(account, { hold: 10, deadlineSeconds: 60 });
    const later = await engine.createRun(account, { hold: 10, deadlineSeconds: 600 });
    await engine.shiftClock(61);
    await sendHeartbeat(engine.db, worker);
    const swept = await engine.sweep();
    expect(swept.failed.toSorted()).toEqual([running, waiting].sort());
    expect(await engine.finish(worker, runs, { credits: 10 })).toEqual([]);
    expect((await engine.stateOf(later)).status).toBe("queued");
    expect(await engine.audit()).toEqual([]);
  });

  test("treats a worker whose heartbeat lies in the future as dead: the clock stepped back", async () => {
    const account = await engine.createAccount();
    const runId = await engine.createRun(account);
    const worker = await engine.registerWorker();
    await engine.claim(worker);
    await engine.shiftClock(-3_600);
    expect((await engine.sweep()).requeued).toEqual([runId]);
  });

  test("lets runs start that were scheduled far ahead before the clock stepped back, with the time they had", async () => {
    const account = await engine.createAccount();
    await engine.shiftClock(3_600);
    const claimedBefore = await engine.createRun(account);
    const unclaimed = await engine.createRun(account);
    const dead = await engine.registerWorker();
    const [first] = await engine.claim(dead, 1);
    expect(first?.runId).toBe(claimedBefore);
    await engine.db.query("update runs set created_at = promptd_now()"); // the machine has one clock for both
    await engine.shiftClock(0);
    const worker = await engine.registerWorker();
    expect(await engine.claim(worker)).toEqual([]);
    expect((await engine.sweep()).requeued).toEqual([claimedBefore]);
    const claimed = await engine.claim(worker);
    expect(idsOf(claimed).sort()).toEqual([claimedBefore, unclaimed].sort());
    const leftMs = (runId: string) =>
      (claimed.find((run) => run.runId === runId)?.deadlineMs ?? Number.NaN) - performance.now();
    expect(leftMs(unclaimed)).toBeLessThanOrEqual(600_000);
    expect(leftMs(unclaimed)).toBeGreaterThan(540_000);
    expect(leftMs(claimedBefore)).toBeLessThanOrEqual(1_800_000); // the most a run has: its start time is not known
    await engine.shiftClock(1_801);
    expect((await engine.sweep()).failed.toSorted()).toEqual([claimedBefore, unclaimed].sort());
    const data = "The run did not finish in time and was stopped. You were not charged.";
    expect((await engine.stateOf(unclaimed)).outputs).toEqual([{ type: "error", data }]);
  });

  test("does not change the times of runs that wait for their delay, even with the longest deadline", async () => {
    const account = await engine.createAccount();
    await engine.createRun(account, { deadlineSeconds: 1_800 });
    const worker = await engine.registerWorker();
    const [run] = await engine.claim(worker);
    if (run === undefined) throw new Error("nothing was claimed");
    await engine.db.query("select run_release($1, $2, $3, $4, interval '29 min')", [
      worker,
      [run.accountId],
      [run.runId],
      [run.attempt],
    ]);
    const times = () => engine.db.query("select run_at::text, deadline_at::text from runs where id = $1", [run.runId]);
    const before = await times();
    await engine.sweep();
    expect(await times()).toEqual(before);
  });

  test("finds runs whose worker has no row at all, as a sweep that died halfway leaves them", async () => {
    const account = await engine.createAccount();
    const runId = await engine.createRun(account);
    const worker = await engine.registerWorker();
    await engine.claim(worker);
    await removeWorker(engine.db, worker);
    expect((await engine.sweep()).requeued).toEqual([runId]);
  });

  test("by eight processes at once requeues each run once", async () => {
    const account = await engine.createAccount();
    const ids = await createMany(engine, account, 40);
    const worker = await engine.registerWorker();
    await engine.claim(worker);
    await letLeaseEnd(engine, worker);
    const sweeps = await Promise.all(Array.from({ length: 8 }, () => engine.sweep()));
    expect(sweeps.flatMap((swept) => swept.requeued).sort()).toEqual(ids.sort());
  });

  /** Locks an account's balance, as a transaction left open would, during `work`. */
  async function whileBalanceIsLocked(account: string, work: () => Promise<void>): Promise<void> {
    await engine.db.tx(async (tx) => {
      await tx.query("select 1 from credit_accounts where account_id = $1 for update", [account]);
      await work();
    });
  }

  test("is not delayed by a locked balance: other runs are requeued and end, and the account's runs end once it is free", async () => {
    const [locked, other] = [await engine.createAccount(100), await engine.createAccount(100)];
    const orphan = await engine.createRun(other);
    const worker = await engine.registerWorker();
    await engine.claim(worker);
    await removeWorker(engine.db, worker);
    const late = await engine.createRun(locked, { hold: 10, deadlineSeconds: 0 });
    const others = await engine.createRun(other, { hold: 10, deadlineSeconds: 0 });
    await whileBalanceIsLocked(locked, async () => {
      expect(await engine.sweep()).toEqual({ requeued: [orphan], failed: [others] });
    });
    expect(await engine.sweep()).toEqual({ requeued: [], failed: [late] });
    expect(await engine.audit()).toEqual([]);
  });

  test("is not delayed by a locked hold: the other runs of its account end", async () => {
    const account = await engine.createAccount(100);
    const [locked, free] = [
      await engine.createRun(account, { hold: 10, deadlineSeconds: 0 }),
      await engine.createRun(account, { hold: 10, deadlineSeconds: 0 }),
    ];
    await engine.db.tx(async (tx) => {
      await tx.query("select 1 from credit_holds where run_id = $1 for update", [locked]);
      expect((await engine.sweep()).failed).toEqual([free]);
    });
    expect((await engine.sweep()).failed).toEqual([locked]);
    expect(await engine.audit()).toEqual([]);
  });

  test("gets past more runs with a locked balance than it takes at once", async () => {
    const [locked, other] = [await engine.createAccount(1_000), await engine.createAccount(100)];
    const late = await Promise.all(
      Array.from({ length: 201 }, () => engine.createRun(locked, { hold: 1, deadlineSeconds: 0 })),
    );
    const behind = await engine.createRun(other, { hold: 10, deadlineSeconds: 0 });
    await whileBalanceIsLocked(locked, async () => {
      expect((await engine.sweep()).failed).toEqual([behind]);
    });
    expect((await engine.sweep()).failed.toSorted()).toEqual(late.sort());
    expect(await engine.audit()).toEqual([]);
  });

  test("ends the other runs if one cannot be settled, and ends that one once its account is repaired", async () => {
    const [damaged, sound] = [await engine.createAccount(100), await engine.createAccount(100)];
    const stuck = await engine.createRun(damaged, { hold: 10, deadlineSeconds: 0 });
    const free = await engine.createRun(damaged, { deadlineSeconds: 0 });
    const good = await engine.createRun(sound, { hold: 10, deadlineSeconds: 0 });
    const setHeld = (held: number) =>
      engine.db.query("update credit_accounts set held = $2 where account_id = $1", [damaged, held]);
    await setHeld(0); // releasing the hold would make it negative
    expect((await engine.sweep()).failed.toSorted()).toEqual([free, good].sort());
    expect((await engine.stateOf(stuck)).status).toBe("queued");
    await setHeld(10);
    expect((await engine.sweep()).failed).toEqual([stuck]);
    expect(await engine.audit()).toEqual([]);
  });

  test("cannot delete a worker in the middle of its claim", async () => {
    const account = await engine.createAccount();
    await createMany(engine, account, 30);
    const worker = await engine.registerWorker();
    const lost: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const [claimed] = await Promise.all([
        engine.claim(worker, 5).catch(() => []),
        letLeaseEnd(engine, worker),
        engine.sweep(),
      ]);
      lost.push(...idsOf(claimed));
      await engine.sweep();
      const stranded = await engine.db.query(
        "select id from runs where worker is not null and worker not in (select id from workers)",
      );
      expect(stranded).toEqual([]);
      await engine.db.query(
        `insert into workers (id, host, os_pid, backend_pid, backend_start, version)
         values ($1, 'here', 1, 1, now(), 'test') on conflict do nothing`,
        [worker],
      );
      await engine.db.query("update workers set heartbeat_at = promptd_now()");
    }
  });

  test("at startup of an embedded installation frees the runs of dead connections without waiting for a lease", async () => {
    const account = await engine.createAccount();
    const ids = await createMany(engine, account, 2);
    const worker = await engine.registerWorker();
    await engine.claim(worker);
    await engine.db.query("update workers set host = 'here', backend_start = backend_start - interval '1 hour'");
    const alive = await engine.registerWorker();
    await engine.db.query("update workers set host = 'elsewhere', backend_pid = 1 where id = $1", [alive]);
    await engine.db.query("select worker_boot_sweep('here')");
    const swept = await engine.sweep(3_600_000);
    expect(swept.requeued.toSorted()).toEqual(ids.sort());
    expect(await engine.db.query("select id from workers")).toEqual([{ id: alive }]); // a worker of another machine is not judged
  });
});
