/** A new run begins in the process that creates it if its worker has room: no claim has to search for it. */
import { isDeepStrictEqual } from "node:util";
import type { Run } from "@promptd/contract";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { AccountLockQueue } from "../../src/runs/create/account-lock-queue.ts";
import { createCallCount } from "../../src/models/calls/provider-calls.ts";
import { createRunCreates, type Reservation } from "../../src/runs/create/create-group.ts";
import { createRunRows, type ClaimLease, type RunToCreate } from "../../src/runs/create/create-store.ts";
import { LANE } from "../../src/runs/run-limits.ts";
import type { Worker } from "../../src/runs/work/worker.ts";
import { until } from "../support/promptd-process.ts";
import { startTestServer } from "../support/test-server.ts";
import { LEASE_MS, openEngine, type Engine } from "./engine-fixture.ts";
import { createTestWorker, type TestWorkerOptions } from "./worker-fixture.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

const CALL = { model: "sandbox/text", provider: "sandbox", providerModel: "text", isFollowed: false };
const leaseOf = (workerId: string, runsMax = 1) => ({ workerId, leaseMs: LEASE_MS, runsMax });

async function createAlone(run: RunToCreate, lease: ClaimLease) {
  const [outcome] = await createRunRows(engine.db, [run], lease);
  return outcome?.kind;
}

async function createClaimed(account: string, workerId: string, wish: Parameters<Engine["create"]>[1] = {}) {
  const run = engine.runToCreate(account, wish);
  const kind = await createAlone(run, leaseOf(workerId));
  return { kind, runId: run.runId };
}

function countedOf(runId: string) {
  return engine.db.query(
    `select step, item, call_number, account_id, attempt, model, provider, provider_model, operation, ended_at, outcome,
       sent_at is not null as is_sent from provider_calls where run_id = $1`,
    [runId],
  );
}

describe("a run that is claimed as it is created", () => {
  test("is the same as if it had been claimed afterwards", async () => {
    const account = await engine.createAccount(100);
    const workerId = await engine.registerWorker();
    const { kind, runId } = await createClaimed(account, workerId, { hold: 10, inputs: { textInputs: { a: "b" } } });
    expect(kind).toBe("claimed");
    await engine.createRun(account, { hold: 10, inputs: { textInputs: { a: "b" } } });
    const [claimed] = await engine.claim(workerId);
    const columns = "status, attempt, max_attempts, worker, started_at is not null as is_started, hold, credits";
    const rows = await engine.db.query(`select ${columns} from runs where id = any ($1)`, [[runId, claimed?.runId]]);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toEqual(rows[1]);
    expect(await engine.claim(workerId)).toEqual([]);
    expect(await engine.audit()).toEqual([]);
  });

  test("has its first call counted, the same as if it had been counted afterwards", async () => {
    const account = await engine.createAccount();
    const workerId = await engine.registerWorker();
    const { kind, runId } = await createClaimed(account, workerId, { firstCall: CALL });
    expect(kind).toBe("claimed");
    const later = { accountId: account, runId: engine.newId(), attempt: 1, step: 0, item: 0 };
    await createCallCount(engine.db)({ request: later, entry: CALL });
    expect(await countedOf(later.runId)).toHaveLength(1);
    expect(await countedOf(runId)).toEqual(await countedOf(later.runId));
  });

  test("is the only kind whose first call is counted: a queued run calls no model yet", async () => {
    const account = await engine.createAccount();
    const workerId = await engine.registerWorker();
    await engine.db.query("insert into run_limits values ('account', 1)");
    expect((await createClaimed(account, workerId, {})).kind).toBe("claimed");
    const { kind, runId } = await createClaimed(account, workerId, { firstCall: CALL });
    expect(kind).toBe("created");
    expect(await countedOf(runId)).toEqual([]);
  });

  test("leaves as much of its account's and its model's limit as a claim would", async () => {
    const [account, other] = [await engine.createAccount(), await engine.createAccount()];
    const workerId = await engine.registerWorker();
    await engine.db.query("insert into run_limits values ('account', 2), ('model:sandbox/text', 3)");
    const kinds = async (ids: readonly string[]) => {
      const created = [];
      for (const id of ids) created.push((await createClaimed(id, workerId)).kind);
      return created;
    };
    expect(await kinds([account, account, account])).toEqual(["claimed", "claimed", "created"]);
    expect(await kinds([other, other])).toEqual(["claimed", "created"]);
    await engine.db.query("insert into run_limits values ($1, 3)", [`account:${account}`]);
    expect(await engine.claim(workerId)).toEqual([]);
    await engine.db.query("update run_limits set max_running = 4 where scope = 'model:sandbox/text'");
    expect(await kinds([account])).toEqual(["claimed"]);
  });

  test("is among the first of its statement, as many as there is room for", async () => {
    const account = await engine.createAccount();
    const workerId = await engine.registerWorker();
    const runs = [1, 2, 3].map(() => engine.runToCreate(account));
    const outcomes = await createRunRows(engine.db, runs, leaseOf(workerId, 2));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["claimed", "claimed", "created"]);
  });

  test("needs a worker that is alive and accepts runs", async () => {
    const account = await engine.createAccount();
    const workerId = await engine.registerWorker();
    expect((await createClaimed(account, engine.newId())).kind).toBe("created");
    await engine.db.query("update workers set draining = true where id = $1", [workerId]);
    expect((await createClaimed(account, workerId)).kind).toBe("created");
    await engine.db.query("update workers set draining = false where id = $1", [workerId]);
    await engine.shiftClock(LEASE_MS / 1_000 + 1);
    expect((await createClaimed(account, workerId)).kind).toBe("created");
  });

  test("waits neither for a claim nor for a sweep that checks its worker", async () => {
    const account = await engine.createAccount();
    const workerId = await engine.registerWorker();
    const besides = async (statement: string) =>
      engine.db.tx(async (tx) => {
        await tx.query(statement);
        return (await createClaimed(account, workerId)).kind;
      });
    expect(await besides(`select pg_advisory_xact_lock(18017, ${LANE})`)).toBe("created");
    expect(await besides("select 1 from workers for update")).toBe("created");
    expect(await besides("select 1")).toBe("claimed");
  });
});

describe("a worker that creates in its own process", () => {
  /** While the slots are reserved nothing is claimed, so no claim is in the way. */
  const ONE_SLOT = { concurrency: 1 };

  /** Records the ids of the versions that it has begun to execute; their runs fail immediately. */
  async function startWorker(options: TestWorkerOptions = {}) {
    const findVersion = vi.fn<(id: string) => Promise<null>>(async () => null);
    const statements: string[] = [];
    const query: Engine["db"]["query"] = (statement, values) => {
      statements.push(typeof statement === "string" ? statement : statement.text);
      return engine.db.query(statement, values);
    };
    const worker = createTestWorker(engine, { db: { ...engine.db, query }, findVersion, ...options });
    onTestFinished(() => worker.drain(0));
    await worker.start();
    return { worker, findVersion, sent: (name: string) => statements.filter((text) => text.includes(name)).length };
  }

  /** As soon as no claim is in progress. */
  async function reserve(worker: Worker, runs: readonly RunToCreate[]): Promise<Reservation> {
    let reservation: Reservation | null = null;
    await until(async () => {
      reservation = await worker.reserve(runs);
      return reservation !== null;
    });
    return reservation as unknown as Reservation;
  }

  /** Claimed at creation but not begun; retried if a claim was in progress at that moment. */
  async function createReserved(worker: Worker): Promise<{ run: RunToCreate; reservation: Reservation }> {
    for (;;) {
      const run = await newRun();
      const reservation = await reserve(worker, [run]);
      if ((await createAlone(run, reservation.lease)) === "claimed") return { run, reservation };
      reservation.begin([]);
    }
  }

  async function newRun(): Promise<RunToCreate> {
    return engine.runToCreate(await engine.createAccount());
  }

  test("begins the run without a separate claim", async () => {
    const { worker, findVersion } = await startWorker(ONE_SLOT);
    const creates = createRunCreates({ db: engine.db, accountLocks: new AccountLockQueue() });
    creates.claimWith((runs) => reserve(worker, runs));
    const run = await newRun();
    expect(await creates.create(run)).toEqual({ kind: "claimed", runId: run.runId });
    await until(async () => (await engine.stateOf(run.runId)).status === "failed");
    expect(findVersion).toHaveBeenCalledTimes(1);
    expect((await engine.stateOf(run.runId)).attempt).toBe(1);
  });

  test("uncounts the first call of a run that ended without it", async () => {
    const findVersion = async () => {
      await until(async () => (await countedOf(run.runId)).length === 1);
      return null;
    };
    const { worker } = await startWorker({ ...ONE_SLOT, findVersion });
    const creates = createRunCreates({ db: engine.db, accountLocks: new AccountLockQueue() });
    creates.claimWith((runs) => reserve(worker, runs));
    const run = engine.runToCreate(await engine.createAccount(), { firstCall: CALL });
    expect((await creates.create(run)).kind).toBe("claimed");
    await until(async () => (await engine.stateOf(run.runId)).status === "failed");
    expect(await countedOf(run.runId)).toEqual([]);
  });

  test("reserves its slots for one create at a time", async () => {
    const { worker } = await startWorker({ concurrency: 2 });
    const runs = await Promise.all([newRun(), newRun(), newRun()]);
    const first = await reserve(worker, runs);
    expect(first.lease.runsMax).toBe(2);
    expect(await worker.reserve(runs)).toBeNull();
    first.begin([]);
    (await reserve(worker, runs)).begin([]);
  });

  test("knows the run before it begins, so that no search for lost runs takes it", async () => {
    const { worker, sent } = await startWorker();
    (await reserve(worker, [await newRun()])).fail(); // from now on it searches for lost runs
    const { run, reservation } = await createReserved(worker);
    const before = sent("run_release_unknown");
    const claims = sent("run_claim(");
    worker.wake();
    await until(async () => sent("run_release_unknown") > before && sent("run_claim(") > claims);
    expect(await engine.stateOf(run.runId)).toMatchObject({ attempt: 1, worker: worker.workerId });
    reservation.begin([run]);
    await until(async () => (await engine.stateOf(run.runId)).status === "failed");
    expect((await engine.stateOf(run.runId)).attempt).toBe(1);
  });

  test("begins it once, and releases it, when the response was lost", async () => {
    const { worker, findVersion } = await startWorker(ONE_SLOT);
    const run = await newRun();
    const reservation = await reserve(worker, [run]);
    expect(await createAlone(run, reservation.lease)).toBe("claimed");
    reservation.fail();
    const again = await reserve(worker, [run]);
    expect(await createAlone(run, again.lease)).toBe("created"); // it may have begun by a claim
    again.begin([]);
    worker.wake();
    await until(async () => (await engine.stateOf(run.runId)).status === "failed");
    expect((await engine.stateOf(run.runId)).attempt).toBe(2);
    expect(findVersion).toHaveBeenCalledTimes(1);
  });

  test("leaves it to other workers when its lease was lost meanwhile", async () => {
    const { worker } = await startWorker();
    const run = await newRun();
    const reservation = await reserve(worker, [run]);
    const { workerId } = worker;
    await engine.db.query("delete from workers");
    await until(async () => worker.workerId !== workerId);
    reservation.begin([run]);
    expect(worker.running).toBe(0);
  });

  test("finishes a run that was being created when it was asked to stop", async () => {
    const { worker } = await startWorker(ONE_SLOT);
    const run = await newRun();
    const reservation = await reserve(worker, [run]);
    expect(await createAlone(run, reservation.lease)).toBe("claimed");
    const stopped = worker.drain(20_000);
    await until(async () => (await engine.db.query("select 1 from workers where draining")).length === 1);
    reservation.begin([run]);
    expect(await worker.reserve([await newRun()])).toBeNull();
    await stopped;
    expect(await engine.stateOf(run.runId)).toMatchObject({ status: "failed", attempt: 1 });
  });
});

test("a run that begins in the process that creates it calls its model without counting the call separately", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const { db } = server.app;
  const { promptVersionId } = await server.publish(
    "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text\n---\nSay hello.\n",
  );
  const { client } = await server.createCaller();
  await db.query(`create sequence counts;
    alter function provider_calls_begin rename to provider_calls_begin_itself;
    create function provider_calls_begin(uuid[], int[], int[], uuid[], int[], text[], text[], text[], uuid[], int)
    returns table (calls int, begun int, open int, open_model text, operation json, followed boolean) language sql as $$
      select nextval('counts');
      select * from provider_calls_begin_itself($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    $$`);
  const counts = async () => (await db.query("select last_value, is_called from counts"))[0];
  let run: Run | undefined;
  await until(async () => {
    const before = await counts();
    run = await client.runs.create({ promptVersionId, inputs: {} }); // a run that meets a claim waits in the queue
    return isDeepStrictEqual(await counts(), before);
  });
  expect(run?.runStatus).toBe("succeeded");
  const calls = "select call_number, outcome from provider_calls where run_id = $1";
  await expect.poll(() => db.query(calls, [run?.runId])).toEqual([{ call_number: 1, outcome: "text" }]);
});

test.each([
  ["unknown makes the worker search for lost runs", new Error("Query read timeout"), ["fail", "begin 0"]],
  [
    "a refusal by the database makes it search for nothing",
    Object.assign(new Error("a check"), { code: "23514" }),
    ["begin 0"],
  ],
])("a create whose outcome is %s", async (_what, error, expected) => {
  const ends: string[] = [];
  const answers = [() => Promise.reject(error)];
  const once: Engine["db"]["once"] = (...asked) => answers.shift()?.() ?? engine.db.once(...asked);
  const creates = createRunCreates({ db: { ...engine.db, once }, accountLocks: new AccountLockQueue() });
  creates.claimWith(async (runs) => ({
    lease: leaseOf(engine.newId(), runs.length), // a worker that does not exist
    begin: (claimed) => ends.push(`begin ${claimed.length}`),
    fail: () => ends.push("fail"),
  }));
  const created = creates.create(engine.runToCreate(await engine.createAccount()));
  await Promise.allSettled([created]);
  expect(ends).toEqual(expected);
});
