/** POST /v1/runs/:runId/cancel: at once, for good, and free. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { directedPrompt, imagePrompt } from "../prompts/prompt-files.ts";
import { bodyOf, cancelRun, errorOf, get, issuesOf, postRun, RANDOM_ID, runOf, startRun } from "./requests.ts";
import { eventually } from "../support/eventually.ts";

let server: TestServer;
let caller: TestCaller;
let slowVersion = "";

beforeAll(async () => {
  // One permit: a canceled run that did not give it back would stop every test after it.
  server = await startTestServer({ environment: { PROMPTD_WORKER_CONCURRENCY: "1" } });
  ({ promptVersionId: slowVersion } = await server.publish(imagePrompt({ body: "sandbox: delay=600000\nA square." })));
});
beforeEach(async () => {
  caller = await server.createCaller({ credits: 100 });
});
afterAll(() => server.close());

const CANCELED = { outputs: [{ type: "error", data: "Canceled by user." }], runStatus: "failed", tokens: 0 };

function becomes(runId: string, runStatus: string) {
  return eventually(async () => expect((await caller.client.runs.get(runId)).runStatus).toBe(runStatus));
}

describe("a run in progress", () => {
  test("is failed with its answer, its hold comes back, and it stays so", async () => {
    const runId = await startRun(caller.client, bodyOf(slowVersion));
    await becomes(runId, "running");
    expect(await caller.client.me.credits()).toEqual({ credits: 96 });
    const answer = await cancelRun(caller.client, runId);
    expect(answer.httpStatus).toBe(200);
    expect(runOf(answer)).toEqual({ runId, ...CANCELED });
    expect(await caller.client.me.credits()).toEqual({ credits: 100 });
    expect(await caller.client.runs.get(runId)).toEqual({ runId, ...CANCELED });
    expect((await caller.client.runs.list()).rows[0]).toMatchObject({ runId, runStatus: "failed", credits: 0 });
  });

  test("wakes the POST and the long poll that wait for it with 200 and the failed view", async () => {
    const posting = postRun(caller.client, bodyOf(slowVersion));
    const runId = await eventually(async () => {
      const { rows } = await caller.client.runs.list({ status: "running" });
      expect(rows).toHaveLength(1);
      return rows[0]?.runId ?? "";
    });
    const polling = get(caller.client, `/v1/runs/${runId}`, { prefer: "wait=60" });
    const startedMs = performance.now();
    await cancelRun(caller.client, runId);
    const [posted, polled] = await Promise.all([posting, polling]);
    expect(performance.now() - startedMs).toBeLessThan(15_000); // not the minute that the poll waits
    expect([posted.httpStatus, polled.httpStatus]).toEqual([200, 200]);
    expect([runOf(posted), runOf(polled)]).toEqual([
      { runId, ...CANCELED },
      { runId, ...CANCELED },
    ]);
  });

  test("stops its call of the model: the worker's only permit is free for the next run", async () => {
    const runId = await startRun(caller.client, bodyOf(slowVersion));
    await becomes(runId, "running");
    await cancelRun(caller.client, runId);
    const { promptVersionId } = await server.publish(imagePrompt());
    expect((await caller.client.runs.create(bodyOf(promptVersionId))).runStatus).toBe("succeeded");
  });

  test("may be canceled by two callers at once: both get the same answer, and the hold is released once", async () => {
    const runId = await startRun(caller.client, bodyOf(slowVersion));
    const answers = await Promise.all([1, 2, 3].map(() => cancelRun(caller.client, runId)));
    expect(answers.map((answer) => runOf(answer))).toEqual(answers.map(() => ({ runId, ...CANCELED })));
    expect(await caller.client.me.credits()).toEqual({ credits: 100 });
    expect((await server.checkLedger()).mismatches).toEqual([]);
  });

  test("of another process is canceled there", async () => {
    const other = await server.startAnother("api");
    const runId = await startRun(caller.client, bodyOf(slowVersion));
    await becomes(runId, "running");
    const answer = await cancelRun(server.clientOf(caller.apiKey, other.listenUrl ?? ""), runId);
    expect(runOf(answer)).toEqual({ runId, ...CANCELED });
  });
});

test("a queued run is never started", async () => {
  await server.app.db.query("insert into run_limits (scope, max_running) values ('account:' || $1, 0)", [
    caller.accountId,
  ]);
  const runId = await startRun(caller.client, bodyOf(slowVersion));
  expect((await caller.client.runs.get(runId)).runStatus).toBe("queued");
  expect(runOf(await cancelRun(caller.client, runId))).toEqual({ runId, ...CANCELED });
  expect(await caller.client.me.credits()).toEqual({ credits: 100 });
  const rows = await server.app.db.query("select attempt, started_at from runs where id = $1", [runId]);
  expect(rows).toEqual([{ attempt: 0, started_at: null }]);
});

describe("a final run", () => {
  test.each([
    ["succeeded", "tokens=5"],
    ["failed", "refuse"],
  ])("that %s is returned unchanged", async (runStatus, behaviour) => {
    const { promptVersionId } = await server.publish(directedPrompt());
    const run = await caller.client.runs.create(bodyOf(promptVersionId, { do: behaviour }));
    expect(run.runStatus).toBe(runStatus);
    const answer = await cancelRun(caller.client, run.runId);
    expect(answer.httpStatus).toBe(200);
    expect(runOf(answer)).toEqual(run);
  });
});

test("a free run has credits null after a cancel too", async () => {
  const file = directedPrompt({ model: "sandbox/text-free" });
  const { promptVersionId } = await server.publish(file);
  const runId = await startRun(caller.client, bodyOf(promptVersionId, { do: "delay=600000" }));
  expect(runOf(await cancelRun(caller.client, runId))).toEqual({ runId, ...CANCELED });
  expect((await caller.client.runs.list()).rows[0]).toMatchObject({ runStatus: "failed", credits: null });
});

describe("an id", () => {
  test("of no run is 404", async () => {
    const answer = await cancelRun(caller.client, RANDOM_ID);
    expect(answer.httpStatus).toBe(404);
    expect(errorOf(answer)).toEqual({
      status: "NOT_FOUND_ERROR",
      message: `No run has the id ${RANDOM_ID}.`,
      data: null,
    });
  });

  test("that is not a UUID is 422", async () => {
    const answer = await cancelRun(caller.client, "abc");
    expect(issuesOf(answer)).toEqual([
      { path: ["path", "runId"], code: "invalid_uuid", message: 'runId must be a UUID, got "abc".' },
    ]);
  });

  test("of another account's run leaves that run alone", async () => {
    const runId = await startRun(caller.client, bodyOf(slowVersion));
    const other = await server.createCaller();
    expect((await cancelRun(other.client, runId)).httpStatus).toBe(404);
    expect(["queued", "running"]).toContain((await caller.client.runs.get(runId)).runStatus);
    await cancelRun(caller.client, runId);
  });
});

test.each(["", "{}", "no JSON", '{"reason":"x"}'])("the body %j is ignored", async (body) => {
  const runId = await startRun(caller.client, bodyOf(slowVersion));
  const answer = await caller.client.request({ method: "POST", path: `/v1/runs/${runId}/cancel`, body });
  expect(runOf(answer)).toEqual({ runId, ...CANCELED });
});
