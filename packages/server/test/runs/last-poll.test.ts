/** The end of a wait: the run is read once more before its caller learns that it is still running. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import { WaitingHub } from "../../src/runs/wait/wait-for-run.ts";
import { openEngine, type Engine } from "./engine-fixture.ts";

let engine: Engine;
let hub: WaitingHub;
beforeAll(async () => {
  engine = await openEngine();
  // This hub never polls by itself, as in the last second of a wait, and no notification reaches it.
  hub = new WaitingHub(engine.db, createLog("silent"), Infinity);
});
afterAll(() => engine.close());

async function createClaimed() {
  const accountId = await engine.createAccount();
  const runId = await engine.createRun(accountId);
  const workerId = await engine.registerWorker();
  return { accountId, runId, workerId, runs: await engine.claim(workerId) };
}

test("a run that ended without a notification is returned when the wait times out", async () => {
  const { accountId, runId, workerId, runs } = await createClaimed();
  await engine.finish(workerId, runs);
  const { finished } = hub.wait({ accountId, runId, untilMs: performance.now() });
  expect(await finished).toMatchObject({ runId, runStatus: "succeeded" });
});

test("a run that is still running ends the wait", async () => {
  const { accountId, runId } = await createClaimed();
  expect(await hub.wait({ accountId, runId, untilMs: performance.now() }).finished).toBeNull();
  expect(hub.waiting).toBe(0);
});

test("a database that does not respond ends the wait all the same", async () => {
  const { promise: never } = Promise.withResolvers<never>();
  const deaf = new WaitingHub({ ...engine.db, pipelined: () => never }, createLog("silent"), Infinity);
  const { accountId, runId } = await createClaimed();
  expect(await deaf.wait({ accountId, runId, untilMs: performance.now() }).finished).toBeNull();
});
