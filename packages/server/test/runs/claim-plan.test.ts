/**
 * A claim costs the same whatever the statistics say: they reflect one moment, such as an empty queue before a rush.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Queryable } from "../../src/platform/database/database.ts";
import { openEngine, type Engine } from "./engine-fixture.ts";
import { countPages } from "../support/count-pages.ts";
import { openSession } from "./open-session.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
  await engine.db.query("alter table runs set (autovacuum_enabled = false)");
});
// Faster than ending each run. The next test would read this test's dead rows, which a statistics run keeps from
// vacuum.
afterEach(() => engine.db.query("truncate runs cascade"));
afterAll(() => engine.close());

/** Ends all runs, as most runs in a table have ended. */
const finish = () =>
  engine.db.query("update runs set status = 'succeeded', finished_at = promptd_now(), worker = null, credits = hold");
const analyze = () => engine.db.query("vacuum analyze runs");

/** Many runs of many accounts, waiting. */
async function queue(runs: number): Promise<void> {
  const runId = await engine.createRun(await engine.createAccount());
  await engine.db.query(
    `insert into runs (account_id, id, prompt_version_id, run_name, model, run_at, deadline_at, created_at, prices, inputs)
     select md5((n % 50)::text)::uuid, gen_random_uuid(), prompt_version_id, run_name, model, run_at, deadline_at,
       created_at, prices, inputs
     from runs, generate_series(1, $2) n where id = $1`,
    [runId, runs],
  );
}

/**
 * 8 kB pages that one claim of 10 runs reads, with the count of what waits. A claim before it reads the catalog, which a
 * new connection does not know yet: another 1,300 pages.
 */
async function readPages(session?: Queryable): Promise<number> {
  const db = session ?? (await openSession(engine.url));
  const worker = await engine.registerWorker();
  const claim = () =>
    countPages(
      db,
      `select * from run_claim($1, 0, 10, '00000000-0000-0000-0000-000000000000', '', interval '6 seconds', 100000),
         run_waiting(0, 11)`,
      [worker],
    );
  await claim();
  return claim();
}

describe("a claim reads few pages", () => {
  test("when statistics reflect an empty queue", async () => {
    await analyze();
    await queue(10_000);
    expect(await readPages()).toBeLessThan(2_000);
  });

  test("when statistics reflect a table in which all runs have ended", async () => {
    await queue(10_000);
    await finish();
    await analyze();
    await queue(10_000);
    expect(await readPages()).toBeLessThan(2_000);
  });

  test("when its session planned it for an empty table", async () => {
    const session = await openSession(engine.url);
    await analyze();
    for (let i = 0; i < 10; i += 1) await readPages(session);
    await queue(20_000);
    expect(await readPages(session)).toBeLessThan(2_000);
  });

  test("when statistics reflect a full queue", async () => {
    await queue(10_000);
    await analyze();
    expect(await readPages()).toBeLessThan(2_000);
  });
});
