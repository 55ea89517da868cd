/** A run is created once, however often it is requested, and never beyond an account's maximum. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createRunRow } from "../../src/runs/create/create-store.ts";
import { openEngine, type Engine } from "./engine-fixture.ts";
import { until } from "../support/promptd-process.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterEach(() => engine.clear());
afterAll(() => engine.close());

describe("an idempotency key", () => {
  test("makes one run of many concurrent calls; the others join it", async () => {
    const account = await engine.createAccount(1_000);
    const call = () => engine.create(account, { key: "one", hold: 10 });
    const outcomes = await Promise.all(Array.from({ length: 18 }, call));
    expect(outcomes.filter((outcome) => outcome.kind === "created")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome.kind === "joined")).toHaveLength(17);
    expect(new Set(outcomes.map((outcome) => ("runId" in outcome ? outcome.runId : "")))).toHaveLength(1);
    const holds = await engine.db.query("select 1 from credit_holds where account_id = $1", [account]);
    expect(holds).toHaveLength(1);
    expect(await engine.audit()).toEqual([]);
  });

  test("with another body is a conflict, of another account is a separate run, and after 24 hours is a new run", async () => {
    const [mine, other] = [await engine.createAccount(), await engine.createAccount()];
    const first = await engine.createRun(mine, { key: "k" });
    expect(await engine.create(mine, { key: "k", body: "another" })).toEqual({ kind: "key_conflict" });
    expect(await engine.create(mine, { key: "k" })).toEqual({ kind: "joined", runId: first });
    expect((await engine.create(other, { key: "k" })).kind).toBe("created");
    await engine.shiftClock(24 * 3_600 + 1);
    expect((await engine.create(mine, { key: "k" })).kind).toBe("created");
  });

  test("is not used up by a run that was refused for lack of credits", async () => {
    const account = await engine.createAccount();
    expect(await engine.create(account, { key: "k", hold: 5 })).toEqual({ kind: "no_credits", available: 0 });
    expect((await engine.create(account, { key: "k", hold: null })).kind).toBe("created");
  });
});

test("creating a run twice under one id, because the first response was lost, creates it once", async () => {
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

test("an account with the maximum of active runs gets no more, and nothing is held for the refused run", async () => {
  const account = await engine.createAccount(100);
  await Promise.all([1, 2].map(() => engine.createRun(account, { activeRunsMax: 2 })));
  expect(await engine.create(account, { activeRunsMax: 2, hold: 10 })).toEqual({ kind: "too_many_active" });
  expect(await engine.create(account, { activeRunsMax: 2, hold: 101 })).toEqual({ kind: "no_credits", available: 100 });
  const [balance] = await engine.db.query("select held from credit_accounts where account_id = $1", [account]);
  expect(balance).toEqual({ held: 0 });
});

test("a free run is counted before the next one is created, and only its own account waits for that", async () => {
  const [account, other] = [await engine.createAccount(), await engine.createAccount()];
  const [created, seen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const uncommitted = engine.db.tx(async (tx) => {
    await createRunRow(tx, engine.runToCreate(account, { activeRunsMax: 1 }));
    created.resolve();
    await seen.promise;
  });
  await created.promise;
  const settled = vi.fn<() => void>();
  const second = engine.create(account, { activeRunsMax: 1 }).then(({ kind }) => kind);
  void second.then(settled);
  expect((await engine.create(other, { activeRunsMax: 1 })).kind).toBe("created");
  const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await until(async () => settled.mock.calls.length > 0 || (await engine.db.query(waits)).length === 1);
  seen.resolve();
  await uncommitted;
  expect(await second).toBe("too_many_active");
});
