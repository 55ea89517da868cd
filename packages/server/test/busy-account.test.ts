/** An account that others keep busy: whoever waits for it waits, and is not told that something broke. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestServer, type TestServer } from "./harness.ts";
import { promptFile } from "./prompt-files.ts";
import { until } from "./promptd-process.ts";
import { bodyOf } from "./wire/requests.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

/** When the create that waits for the lock was sent to the database; empty while none waits. */
async function listWaitingSince(): Promise<string[]> {
  const rows = await server.app.db.query<{ since: string }>(
    `select query_start::text as since from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query like '%run_create%'`,
  );
  return rows.map(({ since }) => since);
}

test("a run whose account is locked for longer than a statement waits for a lock is created when it is free", async () => {
  const { promptVersionId } = await server.publish(promptFile());
  const { client, accountId } = await server.createCaller({ credits: 100 });
  const [locked, unlocked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holder = server.app.db.tx(async (tx) => {
    await tx.query("select 1 from credit_accounts where account_id = $1 for update", [accountId]);
    locked.resolve();
    await unlocked.promise;
  });
  await locked.promise;
  const created = client.runs.createAndWait(bodyOf(promptVersionId));
  const settled = vi.fn<() => void>();
  created.then(settled, settled);
  await until(async () => (await listWaitingSince()).length === 1);
  const [first] = await listWaitingSince();
  // A statement gives up after three seconds: another one waits then.
  const waitsAgain = async () => (await listWaitingSince()).some((since) => since !== first);
  await until(async () => settled.mock.calls.length > 0 || (await waitsAgain()));
  unlocked.resolve();
  expect(await created).toMatchObject({ runStatus: "succeeded" });
  await holder;
  expect((await client.runs.list()).rows).toHaveLength(1);
  expect((await server.checkLedger()).mismatches).toEqual([]);
});
