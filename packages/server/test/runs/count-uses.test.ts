/** The periodic count of runs per prompt: it counts every run once, whatever happens to the clock and the database. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Database, Tx } from "../../src/platform/database/database.ts";
import { firstIdOfMs } from "../../src/platform/ids.ts";
import { createUsesCount } from "../../src/runs/usage/count-uses.ts";
import { openEngine, stopClock, type Engine } from "./engine-fixture.ts";

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;
let engine: Engine;
let account: string;
beforeAll(async () => {
  engine = await openEngine();
  account = await engine.createAccount();
});
beforeEach(async () => {
  await setTime(NOW_MS);
  await engine.db.query("truncate runs");
  await engine.db.query("update prompts set uses = 0");
  await engine.db.query("update run_counts set counted_to = '00000000-0000-0000-0000-000000000000'");
});
afterAll(() => engine.close());

const setTime = (ms: number) => stopClock(engine.db, ms * 1_000);
/** Runs created at these times. */
async function createRuns(...times: readonly number[]): Promise<void> {
  for (const [i, ms] of times.entries()) {
    await engine.createRun(account, { runId: firstIdOfMs(ms).replace(/..$/, String(i + 10)) });
  }
}
async function uses(): Promise<number | undefined> {
  const [row] = await engine.db.query<{ uses: number }>("select uses from prompts");
  return row?.uses;
}

/** A database for which more than this number of runs is too much for one statement. */
function slowing(runsMax: number): Database {
  const slowly = (tx: Tx): Tx => ({
    ...tx,
    query: async (statement, values = []) => {
      const rows = await tx.query<never>(statement, values);
      const counted = (rows as readonly { readonly uses?: number }[]).reduce((sum, row) => sum + (row.uses ?? 0), 0);
      if (counted > runsMax) {
        throw Object.assign(new Error("canceling statement due to statement timeout"), { code: "57014" });
      }
      return rows;
    },
  });
  return { ...engine.db, tx: (work, options) => engine.db.tx((tx) => work(slowly(tx)), options) };
}

describe("the count of uses", () => {
  test("counts every run once, when it is 15 seconds old", async () => {
    const count = createUsesCount(engine.db);
    await createRuns(NOW_MS - HOUR_MS, NOW_MS - 15_001, NOW_MS - 14_999);
    await count();
    await count();
    expect(await uses()).toBe(2);
    await setTime(NOW_MS + 1_000);
    await count();
    expect(await uses()).toBe(3);
  });

  test("continues after the clock was ahead", async () => {
    await setTime(NOW_MS + 365 * 24 * HOUR_MS);
    const count = createUsesCount(engine.db);
    await count();
    await setTime(NOW_MS);
    await count();
    await createRuns(NOW_MS + 1_000);
    await setTime(NOW_MS + 60_000);
    await count();
    expect(await uses()).toBe(1);
  });

  test("does not count twice when clocks differ by seconds", async () => {
    await createRuns(NOW_MS - 20_000);
    const count = createUsesCount(engine.db);
    for (const ms of [0, -10_000, 0]) {
      await setTime(NOW_MS + ms);
      await count();
    }
    expect(await uses()).toBe(1);
  });

  test("counts a backlog that is too large for one statement in parts", async () => {
    await createRuns(...Array.from({ length: 40 }, (_, i) => NOW_MS - (i + 1) * HOUR_MS));
    await createUsesCount(slowing(3))();
    expect(await uses()).toBe(40);
  });

  test("stops between two parts when the process stops, and continues from there", async () => {
    await createRuns(NOW_MS - HOUR_MS);
    const stop = AbortSignal.abort();
    const count = createUsesCount(engine.db);
    await count(stop);
    expect(await uses()).toBe(0);
    await count();
    expect(await uses()).toBe(1);
  });
});
