/** An account that others keep busy: its waiters wait without getting an error, and delay nobody else. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import { openDatabase } from "../../src/platform/database/database.ts";
import { createFinisher } from "../../src/runs/work/finish.ts";
import type { ClaimedRun } from "../../src/runs/work/claim.ts";
import { idsOf, openEngine, type Engine } from "./engine-fixture.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { promptFile } from "../prompts/prompt-files.ts";
import { until } from "../support/promptd-process.ts";
import { bodyOf } from "../wire/requests.ts";

const log = createLog("silent", "stderr");
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ log });
});
afterAll(() => server.close());

const lockAccount = (url: string, accountId: string) =>
  lockRows(url, "select 1 from credit_accounts where account_id = $1 for update", accountId);

/** Keeps rows locked from a separate session, as somebody at a terminal would. */
async function lockRows(url: string, select: string, id: string | readonly string[]) {
  const [locked, unlocked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const db = await openDatabase({ url, role: "operator", log, poolMax: 1 });
  const holder = db.tx(
    async (tx) => {
      await tx.query(select, [id]);
      locked.resolve();
      await unlocked.promise;
    },
    { statementTimeoutMs: 0 },
  );
  await locked.promise;
  return {
    unlock: async () => {
      unlocked.resolve();
      await holder;
      await db.close();
    },
  };
}

/** When the creates that wait for a lock were sent to the database; empty while none wait. */
async function listWaitingSince(): Promise<string[]> {
  const rows = await server.app.db.pipelined<{ since: string }>(
    {
      name: "waiting_since",
      text: `select query_start::text as since from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query like '%run_create%'`,
    },
    [],
  );
  return rows.map(({ since }) => since);
}

test("a run whose account is locked for longer than a statement waits for a lock is created once the account is free", async () => {
  const { promptVersionId } = await server.publish(promptFile());
  const { client, accountId } = await server.createCaller({ credits: 100 });
  const { unlock } = await lockAccount(server.databaseUrl, accountId);
  const created = client.runs.createAndWait(bodyOf(promptVersionId));
  const settled = vi.fn<() => void>();
  created.then(settled, settled);
  const seen = new Set<string>();
  await until(async () => {
    for (const since of await listWaitingSince()) seen.add(since);
    return settled.mock.calls.length > 0 || seen.size > 1; // the first one gave up, and another one waits
  });
  await unlock();
  expect(await created).toMatchObject({ runStatus: "succeeded" });
  expect((await client.runs.list()).rows).toHaveLength(1);
  expect((await server.checkLedger()).mismatches).toEqual([]);
});

test("creates of a locked account leave connections to other accounts, and succeed once the account is free", async () => {
  const { promptVersionId } = await server.publish(promptFile());
  const busy = await server.createCaller({ credits: 100 });
  const other = await server.createCaller({ credits: 100 });
  const create = ({ client }: TestCaller) => client.runs.create(bodyOf(promptVersionId), { respondAsync: true });
  const { unlock } = await lockAccount(server.databaseUrl, busy.accountId);
  const waiting = Promise.all(Array.from({ length: 24 }, () => create(busy)));
  waiting.catch(() => {}); // told below
  await until(async () => (await listWaitingSince()).length > 0);
  const sentMs = performance.now();
  for (let i = 0; i < 3; i += 1) await create(other);
  expect(performance.now() - sentMs).toBeLessThan(15_000); // the lock is held until this has been checked
  // The first creates are retried again and again; the others go together after them.
  const seen = new Set<string>();
  await until(async () => {
    for (const since of await listWaitingSince()) seen.add(since);
    return seen.size > 5;
  });
  let waitingMax = 0;
  for (let looks = 0; looks < 20; looks += 1) waitingMax = Math.max(waitingMax, (await listWaitingSince()).length);
  expect(waitingMax).toBeLessThanOrEqual(1);
  await unlock();
  const runs = await waiting;
  expect(new Set(runs.map(({ runId }) => runId)).size).toBe(24);
  expect((await server.checkLedger()).mismatches).toEqual([]);
});

/** Claimed runs on a separate database, and a finisher like a worker's. */
async function openFinishing() {
  const engine = await openEngine();
  const db = await openDatabase({ url: engine.url, role: "worker", log, poolMax: 8 });
  const workerId = await engine.registerWorker();
  const files = { recordOutputs: async () => {} };
  const finisher = createFinisher({ db, files, log, onWritten: () => {}, onFinished: () => {} });
  const end = { ok: true, outputs: [], credits: 5, reason: null, files: [] };
  return {
    engine,
    db,
    claimNew: async (accountId: string, count: number) => {
      for (let i = 0; i < count; i += 1) await engine.createRun(accountId, { hold: 10 });
      return engine.claim(workerId);
    },
    finishAll: (runs: readonly ClaimedRun[], signal = new AbortController().signal) =>
      runs.map((run) => finisher.finish(run, end, signal)),
    close: async () => {
      await db.close();
      await engine.close();
    },
  };
}

/** The amount that the end of each run took from the account, according to the journal. */
async function listCaptures({ db }: Engine, accountId: string): Promise<number[]> {
  const captures = "select amount from credit_transfers where account_id = $1 and kind = 'capture'";
  return (await db.query<{ amount: number }>(captures, [accountId])).map(({ amount }) => amount);
}

test("ends of a locked account delay no other account's ends, and are written once the account is free", async () => {
  const { engine, db, claimNew, finishAll, close } = await openFinishing();
  const [busy, other] = [await engine.createAccount(1_000), await engine.createAccount(1_000)];
  const [busyRuns, otherRuns] = [await claimNew(busy, 20), await claimNew(other, 5)];
  const { unlock } = await lockAccount(engine.url, busy);
  const held = finishAll(busyRuns);
  const sentMs = performance.now();
  expect(await Promise.all(finishAll(otherRuns))).toEqual(Array(5).fill("written")); // in one batch with the delayed ends
  await db.query("select 1");
  expect(performance.now() - sentMs).toBeLessThan(15_000); // the lock is held until this has been checked
  await unlock();
  expect(await Promise.all(held)).toEqual(Array(20).fill("written"));
  expect(await listCaptures(engine, busy)).toEqual(Array(20).fill(5));
  expect(await engine.audit()).toEqual([]);
  await close();
});

test.each([
  ["runs", "select 1 from runs where id = any ($1) for update"],
  ["holds", "select 1 from credit_holds where run_id = any ($1) for update"],
])("ends whose %s are locked delay neither other ends of their account nor a shutdown", async (_, select) => {
  const { engine, claimNew, finishAll, close } = await openFinishing();
  const account = await engine.createAccount(1_000);
  const runs = await claimNew(account, 12);
  const [locked, free] = [runs.slice(0, 4), runs.slice(4)];
  const { unlock } = await lockRows(engine.url, select, idsOf(locked));
  const lease = new AbortController();
  const dropped = finishAll(locked.slice(0, 2), lease.signal);
  const held = finishAll(locked.slice(2));
  expect(await Promise.all(finishAll(free))).toEqual(Array(8).fill("written")); // in one batch with the delayed ends
  const later = await claimNew(account, 3);
  expect(await Promise.all(finishAll(later))).toEqual(Array(3).fill("written"));
  lease.abort();
  expect(await Promise.all(dropped)).toEqual(["lost", "lost"]);
  await unlock();
  expect(await Promise.all(held)).toEqual(["written", "written"]);
  expect(await listCaptures(engine, account)).toEqual(Array(13).fill(5));
  expect(await engine.audit()).toEqual([]);
  await close();
});

test("a create that waits for its account when the server stops gets its response before its connection is closed", async () => {
  const stopping = await startTestServer({ role: "api", log, httpLimits: { stopMsMin: 8_000 } });
  const { promptVersionId } = await stopping.publish(promptFile());
  const { apiKey, accountId } = await stopping.createCaller({ credits: 100 });
  const { unlock } = await lockAccount(stopping.databaseUrl, accountId);
  const sent = Array.from({ length: 3 }, async (): Promise<{ status: number; body: unknown }> => {
    const response = await fetch(`${stopping.url}/v1/runs`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(bodyOf(promptVersionId)),
    });
    return { status: response.status, body: await response.json() };
  });
  const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await until(async () => (await stopping.app.db.pipelined({ name: "waits", text: waits }, [])).length > 0);
  const closed = stopping.app.close();
  for (const answer of await Promise.all(sent))
    expect(answer).toMatchObject({ status: 500, body: { status: "SERVER_ERROR" } });
  await closed;
  await unlock();
  await stopping.close();
});
