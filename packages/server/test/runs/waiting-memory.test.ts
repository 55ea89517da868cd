/** What a waiting request holds in memory: its entry in the hub, not its body. */
import { once } from "node:events";
import { request } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { startTestServer } from "../support/test-server.ts";
import { until } from "../support/promptd-process.ts";

const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text-free\ninputs: { ask: {} }\n---\n{{ ask }}\n";
const WAITS = 12;
/** A busy machine takes longer than usual until all of them wait. */
const ENVIRONMENT = { PROMPTD_SYNC_WAIT_MS: "120000" };
const MEBIBYTE = 1_024 * 1_024;

/** Bytes in use after full collections: buffers freed during one collection are gone at the next. */
async function usedBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 4; round += 1) {
    collect();
    await nextTurn();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test("a waiting request passes its share of the memory for bodies on to the next request", async () => {
  const limits = { accountBodyBytesMax: MEBIBYTE, totalBodyBytesMax: MEBIBYTE };
  const server = await startTestServer({ role: "api", environment: ENVIRONMENT, httpLimits: limits });
  const { promptVersionId } = await server.publish(ECHO);
  const { apiKey, client } = await server.createCaller();
  const body = JSON.stringify({
    promptVersionId,
    inputs: { textInputs: { ask: "x" } },
    unlisted: "z".repeat(0.6 * MEBIBYTE),
  });
  const headers = { authorization: `Bearer ${apiKey}` };
  const runs = () => server.app.db.query<{ id: string }>("select id from runs");
  const sent: Promise<Response>[] = [];
  for (const count of [1, 2, 3]) {
    sent.push(fetch(`${server.url}/v1/runs`, { method: "POST", headers, body }));
    await until(async () => (await runs()).length === count);
  }
  for (const { id } of await runs()) await client.runs.cancel(id);
  expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200, 200]);
  await server.close();
});

test("the bodies of waiting requests, as bytes and as parsed values, are released", async () => {
  const httpLimits = { accountBodyBytesMax: 64 * MEBIBYTE }; // more than all of them together, which arrive at once
  const server = await startTestServer({ role: "api", environment: ENVIRONMENT, httpLimits });
  const { promptVersionId } = await server.publish(ECHO);
  const { apiKey, client } = await server.createCaller();
  const textInputs = {
    ask: "x",
    // Read and checked with the inputs; the prompt does not know them, so they are not stored.
    ...Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`spare${index}`, "y".repeat(100_000)])),
  };
  const text = JSON.stringify({ promptVersionId, inputs: { textInputs }, unlisted: "z".repeat(3 * MEBIBYTE) });
  const body = Buffer.from(text); // one for all requests, so that what grows is the server's
  const send = async () => {
    const headers = { authorization: `Bearer ${apiKey}`, "content-length": body.length };
    const sent = request(`${server.url}/v1/runs`, { method: "POST", headers, agent: false });
    sent.end(body);
    const [response] = (await once(sent, "response")) as [{ statusCode: number; resume(): void }];
    response.resume();
    return response.statusCode;
  };
  const openRuns = async () =>
    (await server.app.db.query<{ id: string }>("select id from runs where finished_at is null")).map((row) => row.id);
  const endAll = async () => {
    for (const id of await openRuns()) await client.runs.cancel(id);
  };

  const first = send(); // loads what the first request loads
  await until(async () => (await openRuns()).length === 1);
  await endAll();
  expect(await first).toBe(200);

  const waits = Array.from({ length: WAITS }, send);
  await until(async () => (await openRuns()).length === WAITS);
  const whileWaiting = await usedBytes();
  await endAll();
  expect(await Promise.all(waits)).toEqual(Array(WAITS).fill(200));
  const heldByEach = (whileWaiting - (await usedBytes())) / WAITS;
  await server.close();
  // A body is 3.9 MiB as bytes, and as much again as texts, 0.9 MiB of it in the inputs alone.
  expect(heldByEach / MEBIBYTE).toBeLessThan(0.3);
});
