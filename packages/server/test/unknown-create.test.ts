/** A create whose connection is lost while its commit is still at work: what its caller is told is what happened. */
import { expect, onTestFinished, test, vi } from "vitest";
import { openDatabase } from "../src/platform/database.ts";
import { createLog } from "../src/platform/log.ts";
import { startTestServer } from "./harness.ts";
import { promptFile } from "./prompt-files.ts";
import { until } from "./promptd-process.ts";
import { startTcpProxy } from "./tcp-proxy.ts";
import { createTestDatabase } from "./test-database.ts";
import { bodyOf } from "./wire/requests.ts";

/** A commit that takes as long as the test holds a lock, as on a busy disk. */
const LOCK = 4_711;
const SLOW_COMMIT = `create function slow_commit() returns trigger language plpgsql
    as $$ begin perform pg_advisory_xact_lock(${LOCK}); return null; end $$;
  create constraint trigger slow_commit after insert on runs
    deferrable initially deferred for each row execute function slow_commit()`;
/** The commit that waits for the test, and what was sent again, which waits for the commit. */
const WAITING = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";

/** A server whose way to its database can be cut, and a way of the test's own that stays. */
async function startBehindProxy(environment: Readonly<Record<string, string>>) {
  const database = await createTestDatabase();
  const proxy = await startTcpProxy(database.url);
  const server = await startTestServer({
    environment: { PROMPTD_SECRET: "the same for all processes of a test", DATABASE_URL: proxy.url, ...environment },
  });
  const direct = await openDatabase({ url: database.url, role: "test", log: createLog("silent"), poolMax: 2 });
  onTestFinished(async () => {
    await direct.close();
    await server.close();
    await proxy.close();
    await database.drop();
  });
  return { server, direct, cut: () => proxy.cut() };
}

test.each<[string, number, Record<string, string>]>([
  ["the last credits", 2, {}],
  ["the last free place", 100, { PROMPTD_ACTIVE_RUNS_MAX: "1" }],
])("a create of %s without a key is answered with its run, not with a refusal", async (_name, credits, environment) => {
  const { server, direct, cut } = await startBehindProxy(environment);
  const { promptVersionId } = await server.publish(promptFile());
  const { client } = await server.createCaller({ credits });
  await direct.query(SLOW_COMMIT);
  const [locked, unlocked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holder = direct.tx(async (tx) => {
    await tx.query("select pg_advisory_xact_lock($1)", [LOCK]);
    locked.resolve();
    await unlocked.promise;
  });
  await locked.promise;
  const created = client.runs.create(bodyOf(promptVersionId), { idempotencyKey: null, respondAsync: true });
  const settled = vi.fn<() => void>();
  created.then(settled, settled);
  await until(async () => (await direct.query(WAITING)).length === 1);
  cut();
  await until(async () => settled.mock.calls.length > 0 || (await direct.query(WAITING)).length === 2);
  unlocked.resolve();
  await holder;
  const { runId } = await created;
  await until(async () => (await direct.query("select 1 from runs where finished_at is null")).length === 0);
  expect(await direct.query("select id, status, credits from runs")).toEqual([
    { id: runId, status: "succeeded", credits: 1 },
  ]);
});
