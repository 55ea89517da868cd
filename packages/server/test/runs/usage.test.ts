/** Usage: each run counts once, on the day on which it ended, whatever dies while it is rolled up. */
import type { UsageDimension } from "@promptd/contract/manage";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createApiKey } from "../../src/accounts/index.ts";
import { createUsageRollUp } from "../../src/runs/usage/roll-up.ts";
import {
  deleteOldUsage,
  findUsageOfKeys,
  listEarnings,
  listUsage,
  type MeasuredUsage,
} from "../../src/runs/usage/usage-store.ts";
import { until } from "../support/promptd-process.ts";
import { openEngine, stopClock, type Engine, type RunWish } from "./engine-fixture.ts";

const NOON_US = Date.UTC(2027, 4, 5, 12) * 1_000;
const HOUR_US = 3_600 * 1_000_000;
const TODAY = "2027-05-05";

let engine: Engine;
let account = "";
beforeAll(async () => {
  engine = await openEngine();
});
beforeEach(async () => {
  await stopClock(engine.db, NOON_US);
  await engine.db.query("truncate usage_events, usage_days");
  account = await engine.createAccount(1_000);
});
afterAll(() => engine.close());

interface End {
  readonly ok?: boolean;
  readonly credits?: number;
}

async function runOnce(wish: RunWish = {}, end: End = {}, of = account): Promise<string> {
  const runId = await engine.createRun(of, { hold: 10, ...wish });
  const worker = await engine.registerWorker(); // the clock advances by more than a lease
  await engine.finish(worker, await engine.claim(worker), { credits: 4, ...end });
  return runId;
}

async function callProvider(runId: string, callNumber: number, usage: object | null, costMicro: number | null) {
  await engine.db.query(
    `insert into provider_calls (run_id, step, item, call_number, account_id, attempt, model, provider, provider_model,
       ended_at, outcome, usage, cost_micro) values ($1, 0, 0, $2, $3, 1, 'm', 'p', 'm', promptd_now(), 'text', $4, $5)`,
    [runId, callNumber, account, usage, costMicro],
  );
}

const rollUp = () => createUsageRollUp(engine.db)();
const usage = (by: readonly UsageDimension[], accountId: string | null = account): Promise<MeasuredUsage[]> =>
  listUsage(engine.db, { accountId, from: "2027-05-01", to: "2027-05-31", by, rowsMax: 100 });
const SUMS = ["runs", "failed", "credits", "inputTokens", "outputTokens", "costMicro"] as const;
const sumsOf = (rows: readonly MeasuredUsage[]) => rows.map((row) => SUMS.map((name) => row[name]));
const count = async (table: string): Promise<number> => {
  const rows = await engine.db.query<{ n: number }>(`select count(*) as n from ${table}`);
  return rows[0]?.n ?? -1;
};

describe("usage", () => {
  test("sums runs, failures, credits, tokens, and cost, the same before and after it is rolled up", async () => {
    const runId = await runOnce();
    await callProvider(runId, 1, { inputTokens: 100, outputTokens: 0 }, 5);
    await callProvider(runId, 2, { inputTokens: 110, outputTokens: 30 }, 700);
    await callProvider(runId, 3, null, null);
    await runOnce({}, { ok: false });
    await runOnce({ hold: null });
    const before = await usage(["day"]);
    expect([sumsOf(before), before[0]?.day]).toEqual([[[3, 1, 4, 210, 30, 705]], TODAY]);
    await rollUp();
    expect([await count("usage_events"), await count("usage_days")]).toEqual([3, 0]); // too young: calls may still end
    await stopClock(engine.db, NOON_US + 61_000_000);
    await rollUp();
    expect([await count("usage_events"), await count("usage_days")]).toEqual([0, 1]);
    expect(await usage(["day"])).toEqual(before);
    await runOnce();
    expect(sumsOf(await usage(["day"]))).toEqual([[4, 1, 8, 210, 30, 705]]);
  });

  test("can be grouped by day, key, prompt, model, and account, and by several at once", async () => {
    const { keyId } = await createApiKey(engine.db, engine.newId, { accountId: account, name: "ci" });
    await runOnce({ keyId }, { credits: 6 });
    await runOnce({ keyId, model: "sandbox/image" }, { credits: 3 });
    await stopClock(engine.db, NOON_US + 61_000_000);
    await rollUp();
    await stopClock(engine.db, NOON_US + 24 * HOUR_US);
    await runOnce({}, { credits: 1 });
    const shown = async (...by: UsageDimension[]) =>
      (await usage(by)).map(({ day, keyName, model, promptSlug, credits }) =>
        [day, keyName, model, promptSlug, credits].filter((value) => value !== null),
      );
    expect(await shown("day")).toEqual([
      [TODAY, 9],
      ["2027-05-06", 1],
    ]);
    expect(await shown("key")).toEqual([["ci", 9], [1]]);
    expect(await shown("prompt")).toEqual([["test", 10]]);
    expect(await shown("model")).toEqual([
      ["sandbox/text", 7],
      ["sandbox/image", 3],
    ]);
    expect(await shown("day", "model")).toEqual([
      [TODAY, "sandbox/text", 6],
      [TODAY, "sandbox/image", 3],
      ["2027-05-06", "sandbox/text", 1],
    ]);
    const [row] = await usage(["account"], null);
    expect(row).toMatchObject({
      accountId: account,
      accountEmail: expect.stringMatching(/@example\.org$/),
      credits: 10,
    });
    const month = await findUsageOfKeys(engine.db, account, 2);
    expect(month).toEqual(new Map([[keyId, { runs: 2, failed: 0, credits: 9 }]]));
    expect(await findUsageOfKeys(engine.db, account, 1)).toEqual(new Map());
  });

  test("of an account contains nothing from another", async () => {
    const other = await engine.createAccount(100);
    await runOnce({}, {}, other);
    expect(await usage(["day"])).toEqual([]);
    expect(sumsOf(await usage(["day"], null))).toEqual([[1, 0, 4, 0, 0, 0]]);
  });

  test("counts a run on the day of its end in UTC, and removes days that are too old", async () => {
    await stopClock(engine.db, NOON_US + 12 * HOUR_US - 1);
    await runOnce();
    await stopClock(engine.db, NOON_US + 12 * HOUR_US);
    await runOnce();
    await stopClock(engine.db, NOON_US + 36 * HOUR_US);
    await rollUp();
    const days = async () => (await usage(["day"])).map((row) => row.day);
    expect(await days()).toEqual([TODAY, "2027-05-06"]);
    await deleteOldUsage(engine.db, 1);
    expect(await days()).toEqual(["2027-05-06"]);
  });
});

describe("rolling up", () => {
  beforeEach(async () => {
    for (let i = 0; i < 3; i += 1) await runOnce();
    await stopClock(engine.db, NOON_US + 61_000_000);
  });

  test("counts each run once when its process dies in the middle, and continues with the next run", async () => {
    await rollUp();
    await runOnce();
    await stopClock(engine.db, NOON_US + 122_000_000);
    await engine.db.tx(async (tx) => {
      await tx.query("select 1 from usage_days for update");
      const dying = rollUp();
      dying.catch(() => {}); // checked below
      const waits = `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%usage_roll_up%'`;
      await until(async () => (await engine.db.query(waits)).length === 1);
      await expect(dying).rejects.toMatchObject({ code: "57P01" });
    });
    expect([await count("usage_events"), sumsOf(await usage(["day"]))]).toEqual([1, [[4, 0, 16, 0, 0, 0]]]);
    // The locks of a dead backend disappear a moment after its client knows.
    await until(async () => rollUp().then(async () => (await count("usage_events")) === 0));
    expect(sumsOf(await usage(["day"]))).toEqual([[4, 0, 16, 0, 0, 0]]);
  });

  test("by several processes at once counts each run once", async () => {
    for (let i = 0; i < 20; i += 1) await runOnce();
    await stopClock(engine.db, NOON_US + 200_000_000);
    const one = (batch: number) => engine.db.query("select usage_roll_up($1, interval '0')", [batch]);
    await Promise.all(Array.from({ length: 8 }, () => one(3)));
    await rollUp();
    expect([await count("usage_events"), sumsOf(await usage(["day"]))]).toEqual([0, [[23, 0, 92, 0, 0, 0]]]);
  });

  test("stops when asked to", async () => {
    await createUsageRollUp(engine.db)(AbortSignal.abort());
    expect(await count("usage_events")).toBe(3);
  });
});

test("an author sees runs, failures, price, and earnings of own prompts, by prompt and day, and of nobody else", async () => {
  const [author] = await engine.db.query<{ id: string }>("select author_id as id from prompts");
  const authorId = author?.id ?? "";
  await runOnce({ author: { accountId: authorId, sharePercent: 25 } }, { credits: 5 });
  await runOnce({ author: { accountId: authorId, sharePercent: 25 } }, { ok: false });
  await stopClock(engine.db, NOON_US + 61_000_000);
  await rollUp();
  await runOnce({ author: { accountId: authorId, sharePercent: 50 } }, { credits: 1 });
  await runOnce({ hold: null }, {}, authorId); // an own run
  const span = { from: "2027-05-01", to: "2027-05-31", rowsMax: 10 };
  const earned = { promptSlug: "test", runs: 3, failed: 1, credits: 6, earnedHundredths: 175 };
  expect(await listEarnings(engine.db, authorId, { ...span, by: "prompt" })).toMatchObject([{ ...earned, day: null }]);
  expect(await listEarnings(engine.db, authorId, { ...span, by: "day" })).toMatchObject([{ ...earned, day: TODAY }]);
  expect(await listEarnings(engine.db, account, { ...span, by: "prompt" })).toEqual([]);
});
