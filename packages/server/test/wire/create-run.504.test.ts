/** Runs that outlive the wait: 504 with the runId, 202 where it was asked for, long polls (specification, "POST /v1/runs"). */
import type { Client } from "@promptd/client";
import type { Run } from "@promptd/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { directedPrompt, textPrompt } from "../prompts/prompt-files.ts";
import { bodyOf, cancelRun, dataOf, errorOf, get, postRun, runOf, startRun } from "./requests.ts";
import { eventually } from "../support/eventually.ts";

const WINDOW_MS = 1_000;
/** A machine that is busy with other work may take this long, and nothing here waits for it. */
const BUSY_MS = 15_000;
const HOUR = "delay=600000";

let server: TestServer;
let caller: TestCaller;
/** An API that waits for a second only, and the same caller there. */
let hastyUrl = "";
let impatient: Client;
let promptVersionId = "";

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller({ credits: 1_000_000 });
  hastyUrl = (await server.startAnother("api", { PROMPTD_SYNC_WAIT_MS: String(WINDOW_MS) })).listenUrl ?? "";
  impatient = server.clientOf(caller.apiKey, hastyUrl);
  ({ promptVersionId } = await server.publish(directedPrompt()));
});
afterAll(() => server.close());

const post = (behaviour: string, headers: Record<string, string> = {}, client = caller.client) =>
  postRun(client, bodyOf(promptVersionId, { do: behaviour }), headers);

async function timed<Result>(work: () => Promise<Result>): Promise<{ result: Result; ms: number }> {
  const startedMs = performance.now();
  return { result: await work(), ms: performance.now() - startedMs };
}

function idOf504(answer: Parameters<typeof errorOf>[0]): string {
  return (errorOf(answer).data as { runId: string }).runId;
}

/** Polls until the run is final; each poll is as long as the server's wait. */
async function waitForEnd(runId: string, who: TestCaller = caller): Promise<Run> {
  for (;;) {
    const run = await who.client.runs.get(runId, { waitSeconds: 20 });
    if (run.runStatus !== "queued" && run.runStatus !== "running") return run;
  }
}

describe("a run that takes longer than the wait", () => {
  test("answers 504 with exactly its runId at the configured wait, and finishes afterwards", async () => {
    const { result: answer, ms } = await timed(() => post("delay=2500", {}, impatient));
    expect(answer.httpStatus).toBe(504);
    expect(ms).toBeGreaterThanOrEqual(WINDOW_MS - 50);
    const runId = idOf504(answer);
    expect(errorOf(answer)).toEqual({
      status: "GATEWAY_TIMEOUT_ERROR",
      message: `The run is still in progress after 1 second. Do not create it again; get its result with GET /v1/runs/${runId}.`,
      data: { runId },
    });
    expect(await waitForEnd(runId)).toMatchObject({ runId, runStatus: "succeeded", tokens: 1 });
  });

  test("leaves the run running, without outputs yet", async () => {
    const runId = idOf504(await post(HOUR, {}, impatient));
    const state = async () => runOf(await get(caller.client, `/v1/runs/${runId}`));
    await expect.poll(state, { timeout: BUSY_MS }).toEqual({ runId, runStatus: "running", outputs: [], tokens: 0 });
    await cancelRun(caller.client, runId);
  });

  test("tells clients not to retry it, and where and when to poll", async () => {
    const { headers, ...answer } = await post(HOUR, { prefer: "wait=0" });
    const runId = idOf504({ headers, ...answer });
    expect(headers.get("x-should-retry")).toBe("false");
    expect(headers.get("location")).toBe(`${server.url}/v1/runs/${runId}`);
    expect(headers.get("retry-after")).toBe("5");
    await cancelRun(caller.client, runId);
  });
});

describe("Prefer: wait=N", () => {
  test("shortens the wait and is echoed; wait=0 answers at once", async () => {
    const { result: answer, ms } = await timed(() => post(HOUR, { prefer: "wait=0" }));
    expect(answer.httpStatus).toBe(504);
    expect(ms).toBeLessThan(BUSY_MS);
    expect(answer.headers.get("preference-applied")).toBe("wait=0");
    expect(errorOf(answer).message).toContain("still in progress after 0 seconds.");
    await cancelRun(caller.client, idOf504(answer));
  });

  test("never lengthens it", async () => {
    const { result: answer, ms } = await timed(() => post(HOUR, { prefer: "wait=3600" }, impatient));
    expect(answer.httpStatus).toBe(504);
    expect(ms).toBeLessThan(BUSY_MS);
    await cancelRun(caller.client, idOf504(answer));
  });

  test("answers 200 as soon as the run is final", async () => {
    const answer = await post("tokens=5", { prefer: "wait=19" });
    expect(answer.httpStatus).toBe(200);
    expect(runOf(answer).runStatus).toBe("succeeded");
    expect(answer.headers.get("preference-applied")).toBe("wait=19");
  });

  test.each(["wait", "wait=", "wait=-1", "wait=1.5", "wait=soon", "return=minimal", "=", ";;,"])(
    "malformed or unknown (%s) is ignored",
    async (prefer) => {
      const answer = await post("tokens=5", { prefer });
      expect(answer.httpStatus).toBe(200);
      expect(answer.headers.has("preference-applied")).toBe(false);
    },
  );
});

describe("Prefer: respond-async", () => {
  test("answers 202 at once with the run's shape, and with where and when to poll", async () => {
    const { result: answer, ms } = await timed(() => post(HOUR, { prefer: "respond-async" }));
    expect(answer.httpStatus).toBe(202);
    expect(ms).toBeLessThan(BUSY_MS);
    const run = runOf(answer);
    expect(dataOf(answer)).toEqual({ runId: run.runId, outputs: [], runStatus: run.runStatus, tokens: 0 });
    expect(["queued", "running"]).toContain(run.runStatus);
    expect(answer.headers.get("location")).toBe(`${server.url}/v1/runs/${run.runId}`);
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(answer.headers.get("preference-applied")).toBe("respond-async");
    await cancelRun(caller.client, run.runId);
  });

  test("with wait=N waits that long for a 200, then 202", async () => {
    const quick = await post("tokens=5", { prefer: "respond-async, wait=19" });
    expect(quick.httpStatus).toBe(200);
    expect(quick.headers.get("preference-applied")).toBe("respond-async, wait=19");
    const { result: slow, ms } = await timed(() => post(HOUR, { prefer: "respond-async, wait=1" }));
    expect(slow.httpStatus).toBe(202);
    expect(ms).toBeGreaterThanOrEqual(950);
    await cancelRun(caller.client, runOf(slow).runId);
  });

  test("in any case and next to unknown preferences is honored", async () => {
    const answer = await post(HOUR, { prefer: "handling=lenient, Respond-Async" });
    expect(answer.httpStatus).toBe(202);
    await cancelRun(caller.client, runOf(answer).runId);
  });
});

describe("GET /v1/runs/:runId", () => {
  test("of a run in progress shows no outputs and tokens 0, and says when to poll again", async () => {
    const runId = await startRun(caller.client, bodyOf(promptVersionId, { do: HOUR }));
    const answer = await get(caller.client, `/v1/runs/${runId}`);
    expect(answer.httpStatus).toBe(200);
    expect(runOf(answer)).toMatchObject({ runId, outputs: [], tokens: 0 });
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(answer.headers.has("preference-applied")).toBe(false);
    await cancelRun(caller.client, runId);
  });

  test("with Prefer: wait=N answers when the run is final", async () => {
    const runId = await startRun(caller.client, bodyOf(promptVersionId, { do: "delay=400" }));
    const answer = await get(caller.client, `/v1/runs/${runId}`, { prefer: "wait=19" });
    expect(answer.httpStatus).toBe(200);
    expect(answer.headers.get("preference-applied")).toBe("wait=19");
    expect(runOf(answer).runStatus).toBe("succeeded");
    expect(answer.headers.has("retry-after")).toBe(false);
  });

  test("with Prefer: wait=N answers 200 with the current view when the time is over, never 504", async () => {
    const runId = await startRun(caller.client, bodyOf(promptVersionId, { do: HOUR }));
    const { result: answer, ms } = await timed(() => get(impatient, `/v1/runs/${runId}`, { prefer: "wait=60" }));
    expect(answer.httpStatus).toBe(200);
    expect(ms).toBeGreaterThanOrEqual(WINDOW_MS - 50);
    expect(ms).toBeLessThan(BUSY_MS);
    expect(["queued", "running"]).toContain(runOf(answer).runStatus);
    expect(answer.headers.get("retry-after")).toBe("2");
    await cancelRun(caller.client, runId);
  });

  test("of a final run answers at once, whatever the wait", async () => {
    const { runId } = runOf(await post("tokens=5"));
    const { ms } = await timed(() => get(caller.client, `/v1/runs/${runId}`, { prefer: "wait=60" }));
    expect(ms).toBeLessThan(BUSY_MS);
  });

  test("ignores respond-async and unknown query parameters", async () => {
    const { runId } = runOf(await post("tokens=5"));
    const path = `/v1/runs/${runId}?remote=true&include=steps`;
    const answer = await get(caller.client, path, { prefer: "respond-async" });
    expect(answer.httpStatus).toBe(200);
    expect(answer.headers.has("preference-applied")).toBe(false);
    expect(answer.headers.get("x-ignored")).toBe("remote, include");
  });

  test("accepts the id in any case and returns it in lower case", async () => {
    const { runId } = runOf(await post("tokens=5"));
    expect(runOf(await get(caller.client, `/v1/runs/${runId.toUpperCase()}`)).runId).toBe(runId);
  });
});

test("createAndWait of the client creates a run once and stays with it past the 504", async () => {
  const own = await server.createCaller();
  const client = server.clientOf(own.apiKey, hastyUrl);
  const unfinished: string[] = [];
  const run = await client.runs.createAndWait(bodyOf(promptVersionId, { do: "delay=1800" }), {
    pollSeconds: 1,
    onUnfinished: (runId) => unfinished.push(runId),
  });
  expect(run.runStatus).toBe("succeeded");
  expect(unfinished).toEqual([run.runId]);
  expect((await client.runs.list()).rows).toHaveLength(1);
});

test("a server that stops answers a waiting POST with 504 and a waiting GET with 200, at once", async () => {
  const own = await server.createCaller();
  const other = await server.startAnother("api", { PROMPTD_SYNC_WAIT_MS: "60000" });
  const there = server.clientOf(own.apiKey, other.listenUrl ?? "");
  await server.freezeTime(Date.UTC(2126, 0, 1)); // so that the limiter forgets no request
  const admitted = (count: number) =>
    eventually(async () => {
      const text = "select (select sum(n)::int from unnest(counts) n) as admitted from rate_rings where scope_id = $1";
      expect(await server.app.db.query(text, [own.accountId])).toEqual([{ admitted: count }]);
    });
  const posting = postRun(there, bodyOf(promptVersionId, { do: HOUR }));
  const [{ id: runId }] = await eventually(async () => {
    const rows = await server.app.db.query<{ id: string }>("select id from runs where account_id = $1", [
      own.accountId,
    ]);
    expect(rows).toHaveLength(1);
    return rows as [{ id: string }];
  });
  const polling = get(there, `/v1/runs/${runId}`, { prefer: "wait=60" });
  await admitted(2);
  const [posted, polled] = await Promise.all([posting, polling, other.close()]);
  expect([posted.httpStatus, polled.httpStatus]).toEqual([504, 200]);
  expect(idOf504(posted)).toBe(runId);
  await server.shiftTime(0);
  await cancelRun(own.client, runId);
});

test("hanging up does not cancel: the run continues and is charged", async () => {
  const own = await server.createCaller({ credits: 100 });
  const { promptVersionId: version } = await server.publish(textPrompt({ body: "sandbox: delay=800\n{{ topic }}" }));
  const abort = new AbortController();
  const hungUp = own.client.runs.create(bodyOf(version, { topic: "tea" }), { signal: abort.signal });
  await expect.poll(async () => (await own.client.runs.list()).rows.length).toBe(1);
  abort.abort();
  await expect(hungUp).rejects.toThrow("aborted");
  const runId = (await own.client.runs.list()).rows[0]?.runId ?? "";
  const run = await waitForEnd(runId, own);
  expect(run).toMatchObject({ runStatus: "succeeded", tokens: 1 });
  expect((await own.client.me.credits()).credits).toBe(99);
});
