import { beforeEach, expect, test } from "vitest";
import { shiftClock } from "../../../test/runs/engine-fixture.ts";
import { useTestDatabase } from "../../../test/support/test-database.ts";
import type { Database } from "../../platform/database/database.ts";
import { createIdSource, firstIdOfMs } from "../../platform/ids.ts";
import { createLog } from "../../platform/log.ts";
import { systemClock } from "../../platform/clock.ts";
import { createProviderCallsTick } from "./provider-calls.ts";
import { createCallCount } from "./provider-calls.ts";

const log = createLog("silent");
const newId = createIdSource(systemClock);
const DAY_SECONDS = 86_400;

let db: Database;
useTestDatabase((opened) => (db = opened.db));
beforeEach(async () => {
  await shiftClock(db, 0);
  await db.query("truncate provider_calls");
});

const entry = { model: "sandbox/text", provider: "sandbox", providerModel: "text" };
const begin = (runId: string) =>
  createCallCount(db)({ request: { accountId: runId, runId, attempt: 1, step: 0, item: 0 }, entry });
const rowsLeft = async () =>
  (await db.query<{ run_id: string }>("select run_id from provider_calls order by run_id")).map((row) => row.run_id);
const forget = (): Promise<void> => createProviderCallsTick(db, log).run();

test("calls are kept for 35 days, whatever their outcome, and then deleted", async () => {
  const runId = newId();
  await begin(runId);
  await begin(runId);
  await shiftClock(db, 35 * DAY_SECONDS - 60);
  await forget();
  expect(await rowsLeft()).toEqual([runId, runId]);
  await shiftClock(db, 35 * DAY_SECONDS + 60);
  await forget();
  expect(await rowsLeft()).toEqual([]);
});

test("only old records are deleted: a run under way keeps the count of its calls", async () => {
  const old = firstIdOfMs(systemClock.nowMs() - 36 * DAY_SECONDS * 1_000);
  await begin(old);
  await db.query("update provider_calls set sent_at = sent_at - interval '36 days'");
  const young = newId();
  await begin(young);
  await forget();
  expect(await rowsLeft()).toEqual([young]);
  expect(await begin(young)).toMatchObject({ kind: "begun", key: { callNumber: 2 } });
});

test("an id from a process whose clock was wrong deletes no recent record", async () => {
  const wrong = firstIdOfMs(1_000);
  await begin(wrong);
  await forget();
  expect(await rowsLeft()).toEqual([wrong]);
});

test("one tick deletes more than one batch", async () => {
  await db.query(
    `insert into provider_calls (run_id, step, item, call_number, account_id, attempt, model, provider, provider_model, sent_at)
     select $1::uuid, 0, n, 1, $1::uuid, 1, 'm', 'p', 'p', promptd_now() - interval '40 days' from generate_series(1, 5001) n`,
    [firstIdOfMs(systemClock.nowMs() - 40 * DAY_SECONDS * 1_000)],
  );
  await forget();
  expect(await rowsLeft()).toEqual([]);
});
