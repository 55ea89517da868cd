import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { RunStatus } from "@promptd/contract";
import {
  beat,
  findLostRuns,
  giveRunsBack,
  LeaseLost,
  removeWorker,
  retryRun,
  stopClaiming,
  sweepRuns,
} from "../src/runs/queue.ts";
import { cancelRunRow } from "../src/runs/runs-store.ts";
import { TRANSITIONS, type RunEvent } from "../src/runs/run-state.ts";
import { LEASE_MS, openEngine, type Engine } from "./engine-fixture.ts";

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

function createMany(accountId: string, count: number, model = "sandbox/text"): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => engine.createRun(accountId, { model })));
}

/** Makes a worker's lease run out: its last beat was long ago. */
async function letLeaseEnd(workerId: string): Promise<void> {
  await engine.db.query("update workers set beat_at = promptd_now() - interval '7 s' where id = $1", [workerId]);
}

const idsOf = (runs: readonly { readonly runId: string }[]) => runs.map((run) => run.runId);

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

  test("gives every run to one of six workers that claim at once, and to no second one", async () => {
    const accounts = await Promise.all([1, 2, 3, 4, 5].map(() => engine.createAccount()));
    const created = (await Promise.all(accounts.map((account) => createMany(account, 40)))).flat();
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
    await createMany(busy, 300);
    const own = await engine.createRun(small);
    const worker = await engine.registerWorker();
    expect(idsOf(await engine.claim(worker, 2))).toContain(own);
  });

  test("never exceeds the limit of a model with six claimers, and a full model stalls no other", async () => {
    await limit("model:sandbox/slow", 5);
    const accounts = await Promise.all([1, 2, 3].map(() => engine.createAccount()));
    await Promise.all(accounts.map((account) => createMany(account, 10, "sandbox/slow")));
    await Promise.all(accounts.map((account) => createMany(account, 10, "sandbox/text")));
    const workers = await Promise.all(Array.from({ length: 6 }, () => engine.registerWorker()));
    const claims = await Promise.all(workers.flatMap((worker) => [engine.claim(worker, 9), engine.claim(worker, 9)]));
    const models = claims.flat().map((run) => run.model);
    expect(models.filter((model) => model === "sandbox/slow")).toHaveLength(5);
    expect(models.filter((model) => model === "sandbox/text")).toHaveLength(30);
  });

  test("never exceeds the limit of an account, by default 50, its own where it has one", async () => {
    const [plain, tight] = [await engine.createAccount(), await engine.createAccount()];
    await limit(`account:${tight}`, 3);
    await Promise.all([createMany(plain, 60), createMany(tight, 60)]);
    const worker = await engine.registerWorker();
    const runs = [...(await engine.claim(worker)), ...(await engine.claim(worker))];
    expect(runs.filter((run) => run.accountId === plain)).toHaveLength(50);
    expect(runs.filter((run) => run.accountId === tight)).toHaveLength(3);
  });

  test("reaches a run behind more capped pairs than one look scans, by its cursor", async () => {
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

  test("is refused to a worker that was swept, drains or let its lease end", async () => {
    const account = await engine.createAccount();
    await engine.createRun(account);
    const [swept, draining, late] = [
      await engine.registerWorker(),
      await engine.registerWorker(),
      await engine.registerWorker(),
    ];
    await removeWorker(engine.db, swept);
    await stopClaiming(engine.db, draining);
    await letLeaseEnd(late);
    for (const worker of [swept, draining, late]) await expect(engine.claim(worker)).rejects.toThrow(LeaseLost);
  });

  test("skips a run that another transaction holds, and waits for nothing", async () => {
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
  /** A run that worker `old` lost to worker `now`: attempt 2 is under way. */
  async function loseRun() {
    const account = await engine.createAccount(100);
    const runId = await engine.createRun(account, { hold: 10 });
    const [old, now] = [await engine.registerWorker(), await engine.registerWorker()];
    const stale = await engine.claim(old);
    await letLeaseEnd(old);
    await sweepRuns(engine.db, LEASE_MS);
    const current = await engine.claim(now);
    expect(current.map((run) => run.attempt)).toEqual([2]);
    return { account, runId, old, now, stale, current };
  }

  test("lets the finish, the retry and the give-back of a lost worker change nothing", async () => {
    const { runId, old, now, stale, current } = await loseRun();
    const before = await engine.stateOf(runId);
    const [run] = stale;
    if (run === undefined) throw new Error("nothing was claimed");
    expect(await engine.finish(old, stale, { credits: 9 })).toEqual([]);
    expect(await engine.finish(now, stale, { credits: 9 })).toEqual([]); // right worker, stale attempt
    expect(await engine.finish(old, current, { credits: 9 })).toEqual([]); // right attempt, stale worker
    expect(await retryRun(engine.db, old, run, 0)).toBe(false);
    expect(await giveRunsBack(engine.db, old, stale, 0)).toEqual([]);
    expect(await beat(engine.db, old)).toBe(false);
    expect(await findLostRuns(engine.db, old, stale)).toEqual([runId]);
    expect(await findLostRuns(engine.db, now, current)).toEqual([]);
    expect(await engine.stateOf(runId)).toEqual(before);
    expect(await engine.finish(now, current, { credits: 4 })).toEqual([runId]);
    expect(await engine.stateOf(runId)).toMatchObject({ status: "succeeded", attempt: 2, credits: 4 });
    expect(await engine.audit()).toEqual([]);
  });

  test("lets a finish happen once: the second changes nothing, not even with another end", async () => {
    const account = await engine.createAccount(100);
    const runId = await engine.createRun(account, { hold: 10 });
    const worker = await engine.registerWorker();
    const runs = await engine.claim(worker);
    expect(await engine.finish(worker, runs, { credits: 3 })).toEqual([runId]);
    expect(await engine.finish(worker, runs, { ok: false })).toEqual([]);
    expect(await engine.stateOf(runId)).toMatchObject({ status: "succeeded", credits: 3 });
    expect(await engine.audit()).toEqual([]);
  });

  test("keeps a canceled run canceled when its worker reports success afterwards", async () => {
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

  test("finishes some of a batch and leaves what was lost of it", async () => {
    const account = await engine.createAccount(100);
    const ids = await Promise.all([1, 2, 3].map(() => engine.createRun(account, { hold: 5 })));
    const worker = await engine.registerWorker();
    const runs = await engine.claim(worker);
    await cancelRunRow(engine.db, account, ids[1] ?? "");
    const kept = await engine.finish(worker, runs, { credits: 5 });
    expect(new Set(kept)).toEqual(new Set([ids[0], ids[2]]));
    expect(await engine.audit()).toEqual([]);
  });
});

describe("a run that goes back to the queue", () => {
  test("waits for its delay, keeps showing running, and counts its attempt", async () => {
    const account = await engine.createAccount();
    const runId = await engine.createRun(account);
    const worker = await engine.registerWorker();
    const [run] = await engine.claim(worker);
    if (run === undefined) throw new Error("nothing was claimed");
    expect(await retryRun(engine.db, worker, run, 30_000)).toBe(true);
    expect(await engine.stateOf(runId)).toMatchObject({ status: "running", worker: null, attempt: 1, max_attempts: 3 });
    expect(await engine.claim(worker)).toEqual([]);
    await engine.shiftClock(31);
    await beat(engine.db, worker);
    expect((await engine.claim(worker)).map((one) => one.attempt)).toEqual([2]);
  });

  test("gets no attempt more than three, and none past its deadline", async () => {
    const account = await engine.createAccount();
    await engine.createRun(account);
    const worker = await engine.registerWorker();
    for (const attempt of [1, 2, 3]) {
      const [run] = await engine.claim(worker);
      if (run === undefined) throw new Error("nothing was claimed");
      expect(run.attempt).toBe(attempt);
      expect(await retryRun(engine.db, worker, run, 0)).toBe(attempt < 3);
    }
    const late = await engine.createRun(account, { deadlineSeconds: 20 });
    const [run] = (await engine.claim(worker)).filter((one) => one.runId === late);
    if (run === undefined) throw new Error("nothing was claimed");
    expect(await retryRun(engine.db, worker, run, 30_000)).toBe(false);
  });

  test("by a drain keeps its number of attempts: ten drains cost it none", async () => {
    const account = await engine.createAccount();
    const runId = await engine.createRun(account);
    const worker = await engine.registerWorker();
    for (let i = 0; i < 10; i += 1) {
      const runs = await engine.claim(worker);
      expect(await giveRunsBack(engine.db, worker, runs, 0)).toEqual([runId]);
    }
    const state = await engine.stateOf(runId);
    expect(state.max_attempts - state.attempt).toBe(3);
  });
});

describe("the sweep", () => {
  test("gives the runs of a dead worker back at once and leaves those of the living alone", async () => {
    const account = await engine.createAccount();
    const [dead, alive] = [await engine.registerWorker(), await engine.registerWorker()];
    const lost = await createMany(account, 3);
    await engine.claim(dead);
    const safe = await engine.createRun(account);
    await engine.claim(alive);
    await letLeaseEnd(dead);
    const swept = await sweepRuns(engine.db, LEASE_MS);
    expect(swept.requeued.toSorted()).toEqual(lost.toSorted());
    expect(swept.failed).toEqual([]);
    expect((await engine.stateOf(safe)).worker).toBe(alive);
    expect(idsOf(await engine.claim(alive)).sort()).toEqual(lost.sort());
  });

  test("fails a poison run after its third worker and releases its hold", async () => {
    const account = await engine.createAccount(100);
    const runId = await engine.createRun(account, { hold: 40 });
    for (const attempt of [1, 2, 3]) {
      const worker = await engine.registerWorker();
      expect((await engine.claim(worker)).map((run) => run.attempt)).toEqual([attempt]);
      await letLeaseEnd(worker);
      const swept = await sweepRuns(engine.db, LEASE_MS);
      expect(swept).toEqual(attempt < 3 ? { requeued: [runId], failed: [] } : { requeued: [], failed: [runId] });
    }
    expect(await engine.stateOf(runId)).toMatchObject({ status: "failed", credits: 0, fail_reason: "worker_lost" });
    expect(await engine.audit()).toEqual([]);
  });

  test("fails what is past its deadline, waiting or running, and releases the holds", async () => {
    const account = await engine.createAccount(100);
    const running = await engine.createRun(account, { hold: 10, deadlineSeconds: 60 });
    const worker = await engine.registerWorker();
    const runs = await engine.claim(worker);
    const waiting = await engine.createRun(account, { hold: 10, deadlineSeconds: 60 });
    const later = await engine.createRun(account, { hold: 10, deadlineSeconds: 600 });
    await engine.shiftClock(61);
    await beat(engine.db, worker);
    const swept = await sweepRuns(engine.db, LEASE_MS);
    expect(swept.failed.toSorted()).toEqual([running, waiting].sort());
    expect(await engine.finish(worker, runs, { credits: 10 })).toEqual([]);
    expect((await engine.stateOf(later)).status).toBe("queued");
    expect(await engine.audit()).toEqual([]);
  });

  test("takes a worker whose beat lies in the future for dead: the clock stepped back", async () => {
    const account = await engine.createAccount();
    const runId = await engine.createRun(account);
    const worker = await engine.registerWorker();
    await engine.claim(worker);
    await engine.shiftClock(-3_600);
    expect((await sweepRuns(engine.db, LEASE_MS)).requeued).toEqual([runId]);
  });

  test("finds runs whose worker has no row at all, as a sweep that died half-way leaves them", async () => {
    const account = await engine.createAccount();
    const runId = await engine.createRun(account);
    const worker = await engine.registerWorker();
    await engine.claim(worker);
    await removeWorker(engine.db, worker);
    expect((await sweepRuns(engine.db, LEASE_MS)).requeued).toEqual([runId]);
  });

  test("by eight processes at once gives each run back once", async () => {
    const account = await engine.createAccount();
    const ids = await createMany(account, 40);
    const worker = await engine.registerWorker();
    await engine.claim(worker);
    await letLeaseEnd(worker);
    const sweeps = await Promise.all(Array.from({ length: 8 }, () => sweepRuns(engine.db, LEASE_MS)));
    expect(sweeps.flatMap((swept) => swept.requeued).sort()).toEqual(ids.sort());
  });

  test("cannot delete a worker in the middle of its claim", async () => {
    const account = await engine.createAccount();
    await createMany(account, 30);
    const worker = await engine.registerWorker();
    const lost: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const [claimed] = await Promise.all([
        engine.claim(worker, 5).catch(() => []),
        engine.db.query("update workers set beat_at = promptd_now() - interval '7 s'"),
        sweepRuns(engine.db, LEASE_MS),
      ]);
      lost.push(...idsOf(claimed));
      await sweepRuns(engine.db, LEASE_MS);
      const stranded = await engine.db.query(
        "select id from runs where worker is not null and worker not in (select id from workers)",
      );
      expect(stranded).toEqual([]);
      await engine.db.query(
        `insert into workers (id, host, os_pid, backend_pid, backend_start, version)
         values ($1, 'here', 1, 1, now(), 'test') on conflict do nothing`,
        [worker],
      );
      await engine.db.query("update workers set beat_at = promptd_now()");
    }
  });

  test("at the start of an embedded installation frees the runs of dead connections without waiting for a lease", async () => {
    const account = await engine.createAccount();
    const ids = await createMany(account, 2);
    const worker = await engine.registerWorker();
    await engine.claim(worker);
    await engine.db.query("update workers set host = 'here', backend_start = backend_start - interval '1 hour'");
    const alive = await engine.registerWorker();
    await engine.db.query("update workers set host = 'elsewhere', backend_pid = 1 where id = $1", [alive]);
    await engine.db.query("select worker_boot_sweep('here')");
    const swept = await sweepRuns(engine.db, 3_600_000);
    expect(swept.requeued.toSorted()).toEqual(ids.sort());
    expect(await engine.db.query("select id from workers")).toEqual([{ id: alive }]); // another machine's is not judged
  });
});

describe("an idempotency key", () => {
  test("makes one run of many calls at once; the others join it", async () => {
    const account = await engine.createAccount(1_000);
    const call = async () => {
      for (;;) {
        try {
          return await engine.create(account, { key: "one", hold: 10 });
        } catch (error) {
          if ((error as { code?: string }).code !== "PD409") throw error; // the loser calls once more
        }
      }
    };
    const outcomes = await Promise.all(Array.from({ length: 18 }, call));
    expect(outcomes.filter((outcome) => outcome.kind === "created")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome.kind === "joined")).toHaveLength(17);
    expect(new Set(outcomes.map((outcome) => ("runId" in outcome ? outcome.runId : "")))).toHaveLength(1);
    const holds = await engine.db.query("select 1 from credit_holds where account_id = $1", [account]);
    expect(holds).toHaveLength(1);
    expect(await engine.audit()).toEqual([]);
  });

  test("with another body is a conflict, of another account a run of its own, after 24 hours a new run", async () => {
    const [mine, other] = [await engine.createAccount(), await engine.createAccount()];
    const first = await engine.createRun(mine, { key: "k" });
    expect(await engine.create(mine, { key: "k", body: "another" })).toEqual({ kind: "key_conflict" });
    expect(await engine.create(mine, { key: "k" })).toEqual({ kind: "joined", runId: first });
    expect((await engine.create(other, { key: "k" })).kind).toBe("created");
    await engine.shiftClock(24 * 3_600 + 1);
    expect((await engine.create(mine, { key: "k" })).kind).toBe("created");
  });

  test("is not used up by a run that was refused for want of credits", async () => {
    const account = await engine.createAccount();
    expect(await engine.create(account, { key: "k", hold: 5 })).toEqual({ kind: "no_credits", available: 0 });
    expect((await engine.create(account, { key: "k", hold: null })).kind).toBe("created");
  });
});

test("creating a run twice under one id creates it once: the answer to the first was lost", async () => {
  const account = await engine.createAccount(100);
  const runId = engine.newId();
  const outcomes = [
    await engine.create(account, { runId, hold: 10 }),
    await engine.create(account, { runId, hold: 10 }),
  ];
  expect(outcomes).toEqual([
    { kind: "created", runId },
    { kind: "created", runId },
  ]);
  expect(await engine.audit()).toEqual([]);
  const [balance] = await engine.db.query("select held from credit_accounts where account_id = $1", [account]);
  expect(balance).toEqual({ held: 10 });
});

test("an account at its most active runs gets no more, and nothing is held for the refused one", async () => {
  const account = await engine.createAccount(100);
  await Promise.all([1, 2].map(() => engine.createRun(account, { activeRunsMax: 2 })));
  await expect(engine.create(account, { activeRunsMax: 2, hold: 10 })).rejects.toMatchObject({ code: "PD429" });
  const [balance] = await engine.db.query("select held from credit_accounts where account_id = $1", [account]);
  expect(balance).toEqual({ held: 0 });
});

describe("the table of run states is what the database does", () => {
  const STATES: readonly RunStatus[] = ["queued", "running", "succeeded", "failed"];
  const EVENTS = Object.keys(TRANSITIONS.queued) as RunEvent[];

  for (const state of STATES) {
    for (const event of EVENTS) {
      const expected = TRANSITIONS[state][event];
      test(`${state} + ${event} -> ${expected ?? "nothing"}`, async () => {
        const { account, runId, worker } = await bringTo(state);
        const before = await engine.stateOf(runId);
        await happen(event, { account, runId, worker });
        const after = await engine.stateOf(runId);
        expect(after.status).toBe(expected ?? before.status);
        expect(expected === null ? after : before).toEqual(before); // nothing at all changes where nothing can happen
        expect(await engine.audit()).toEqual([]);
      });
    }
  }

  interface Place {
    readonly account: string;
    readonly runId: string;
    readonly worker: string;
  }

  async function bringTo(state: RunStatus): Promise<Place> {
    const account = await engine.createAccount(100);
    const runId = await engine.createRun(account, { hold: 10, deadlineSeconds: 60 });
    const worker = await engine.registerWorker();
    if (state === "queued") return { account, runId, worker };
    const runs = await engine.claim(worker);
    if (state === "running") return { account, runId, worker };
    await engine.finish(worker, runs, { ok: state === "succeeded", credits: 5 });
    return { account, runId, worker };
  }

  /** As the worker that last had the run, with the attempt the run shows: the most a late report can know. */
  async function happen(event: RunEvent, { account, runId, worker }: Place): Promise<void> {
    const { attempt } = await engine.stateOf(runId);
    const run = { accountId: account, runId, attempt } as Parameters<typeof engine.finish>[1][number];
    switch (event) {
      case "claimed":
        // A running run is claimed again once its worker has lost it.
        await engine.db.query("update runs set worker = null where id = $1 and status = 'running'", [runId]);
        return void (await engine.claim(worker));
      case "completed":
        return void (await engine.finish(worker, [run], { credits: 7 }));
      case "broke":
        return void (await engine.finish(worker, [run], { ok: false }));
      case "canceled":
        return void (await cancelRunRow(engine.db, account, runId));
      case "released":
        return void (await giveRunsBack(engine.db, worker, [run], 0));
      case "gave-up":
        await engine.shiftClock(61);
        return void (await sweepRuns(engine.db, LEASE_MS));
    }
  }
});
