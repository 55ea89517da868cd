/** A new run begins in the process that creates it, where its worker has room: no claim has to look for it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { LANE } from "../../src/runs/work/claim.ts";
import { createRunRow, createRunRows } from "../../src/runs/create/create-store.ts";
import { LEASE_MS, openEngine, type Engine } from "./engine-fixture.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

const leaseOf = (workerId: string) => ({ workerId, lane: LANE, leaseMs: LEASE_MS });

async function createClaimed(account: string, workerId: string, wish: Parameters<Engine["create"]>[1] = {}) {
  const run = engine.runToCreate(account, wish);
  const { kind } = await createRunRow(engine.db, run, leaseOf(workerId));
  return { kind, runId: run.runId };
}

describe("a run that is claimed as it is created", () => {
  test("is as if it had been claimed afterwards", async () => {
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

  test("is told of as claimed again, when its answer was lost, and not to another worker", async () => {
    const account = await engine.createAccount();
    const [workerId, otherId] = [await engine.registerWorker(), await engine.registerWorker()];
    const run = engine.runToCreate(account);
    const send = async (id: string) => (await createRunRow(engine.db, run, leaseOf(id))).kind;
    expect([await send(workerId), await send(workerId), await send(otherId)]).toEqual([
      "claimed",
      "claimed",
      "created",
    ]);
    expect((await engine.stateOf(run.runId)).attempt).toBe(1);
  });

  test("leaves as much of its account's and its model's limit as a claim", async () => {
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

  test("is one of the first of its statement, as many as there is room for", async () => {
    const account = await engine.createAccount();
    const workerId = await engine.registerWorker();
    const runs = [1, 2, 3].map(() => engine.runToCreate(account));
    const outcomes = await createRunRows(engine.db, runs, { ...leaseOf(workerId), runsMax: 2 });
    expect(outcomes.map(({ kind }) => kind)).toEqual(["claimed", "claimed", "created"]);
  });

  test("needs a worker that lives and takes runs", async () => {
    const account = await engine.createAccount();
    const workerId = await engine.registerWorker();
    expect((await createClaimed(account, engine.newId())).kind).toBe("created");
    await engine.db.query("update workers set draining = true where id = $1", [workerId]);
    expect((await createClaimed(account, workerId)).kind).toBe("created");
    await engine.db.query("update workers set draining = false where id = $1", [workerId]);
    await engine.shiftClock(LEASE_MS / 1_000 + 1);
    expect((await createClaimed(account, workerId)).kind).toBe("created");
  });

  test("waits for no claim, nor for a sweep that judges its worker", async () => {
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
