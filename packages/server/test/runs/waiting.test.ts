/** Requests that wait for their runs: the hub that wakes them, and what it does when no notification arrives. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { enableFaults } from "../../src/platform/fault-injection.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { until } from "../support/promptd-process.ts";

const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text-free\ninputs: { ask: {} }\n---\n{{ ask }}\n";
let server: TestServer;
let caller: TestCaller;
let promptVersionId: string;

beforeAll(async () => {
  server = await startTestServer({ role: "api" }); // no worker: runs end when a test ends them
  ({ promptVersionId } = await server.publish(ECHO));
  caller = await server.createCaller();
});
afterAll(async () => {
  enableFaults("");
  await server.close();
});

const body = () => ({ promptVersionId, inputs: { textInputs: { ask: "x" } } });

async function openRunIds(): Promise<string[]> {
  const rows = await server.app.db.query<{ id: string }>("select id from runs where finished_at is null order by id");
  return rows.map((row) => row.id);
}

/** Starts waiting requests and resolves when all their runs exist. */
async function startWaits(count: number) {
  const before = (await openRunIds()).length;
  const waits = Array.from({ length: count }, () => caller.client.runs.create(body()));
  await until(async () => (await openRunIds()).length === before + count);
  return waits;
}

describe("a waiting request", () => {
  test("gets the result of its own run and no other", async () => {
    const waits = await startWaits(30);
    for (const id of await openRunIds()) await caller.client.runs.cancel(id);
    const runs = await Promise.all(waits);
    expect(new Set(runs.map((run) => run.runId)).size).toBe(30);
    expect(new Set(runs.map((run) => run.runStatus))).toEqual(new Set(["failed"]));
  });

  test("is answered by the next one-second poll when the run ends without a notification", async () => {
    const [wait] = await startWaits(1);
    await server.app.db.query("select run_cancel(account_id, id) from runs where finished_at is null");
    expect((await wait)?.runStatus).toBe("failed");
  });

  test("is answered when another process ends its run and every notification is lost", async () => {
    const [wait] = await startWaits(1);
    enableFaults("notify.send:skip");
    const worker = await server.startAnother("worker");
    expect((await wait)?.runStatus).toBe("succeeded");
    await worker.close();
    enableFaults("");
  });

  test("shares its run with every other request that joined it with the same key", async () => {
    const joined = Array.from({ length: 10 }, () => caller.client.runs.create(body(), { idempotencyKey: "shared" }));
    await until(async () => (await openRunIds()).length === 1);
    const [id] = await openRunIds();
    await caller.client.runs.cancel(id ?? "");
    expect(new Set((await Promise.all(joined)).map((run) => run.runId))).toEqual(new Set([id]));
  });

  test("that disconnects leaves its run alone", async () => {
    const hangUp = new AbortController();
    const gone = caller.client.runs.create(body(), { signal: hangUp.signal }).catch((error: unknown) => error);
    await until(async () => (await openRunIds()).length === 1);
    hangUp.abort();
    expect(await gone).toBeInstanceOf(Error);
    const [id] = await openRunIds();
    const worker = await server.startAnother("worker");
    await until(async () => (await caller.client.runs.get(id ?? "")).runStatus === "succeeded");
    await worker.close();
  });
});
