/** Many callers at once: nothing is lost, nothing is charged twice, no credit is left on hold. */
import type { Client } from "@promptd/client";
import type { Run } from "@promptd/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { directedPrompt } from "../prompts/prompt-files.ts";
import { bodyOf } from "./requests.ts";

const ACCOUNTS = 50;
const RUNS_EACH = 20;
/** Of each four runs: one credit, two credits, a failure, one credit. */
const BEHAVIOURS = ["tokens=2", "tokens=2000 input=4000", "refuse", "delay=50"];

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_SYNC_WAIT_MS: "60000" } });
});
afterAll(() => server.close());

test("1,000 runs created at once by 50 accounts all end, and the ledger is exact", async () => {
  const { promptVersionId } = await server.publish(
    directedPrompt({ fields: "inputs: { do: {} }\nmaxOutputTokens: 2048" }),
  );
  const callers: Client[] = [];
  for (let i = 0; i < ACCOUNTS; i += 1) {
    const { apiKey } = await server.createCaller({ credits: 100 });
    // It repeats a failed request, as callers should: the database of a starved machine does not answer all in time.
    callers.push(server.clientOf(apiKey, server.url, 5));
  }
  const create = (client: Client): Promise<Run[]> =>
    Promise.all(
      Array.from({ length: RUNS_EACH }, (_, i) =>
        client.runs.createAndWait(bodyOf(promptVersionId, { do: BEHAVIOURS[i % BEHAVIOURS.length] ?? "" })),
      ),
    );
  const runs = await Promise.all(callers.map(create));
  expect(new Set(runs.flat().map(({ runId }) => runId)).size).toBe(ACCOUNTS * RUNS_EACH);
  for (const [at, client] of callers.entries()) {
    const own = runs[at] ?? [];
    const ofPrice = (price: number) => own.filter(({ tokens }) => tokens === price).length;
    expect([ofPrice(0), ofPrice(1), ofPrice(2)]).toEqual([5, 10, 5]);
    const listed = (await client.runs.list({ limit: 50 })).rows;
    expect(listed.map(({ runId }) => runId).sort()).toEqual(own.map(({ runId }) => runId).sort());
    expect((await client.me.credits()).credits).toBe(100 - 20);
  }
  expect((await server.checkLedger()).mismatches).toEqual([]);
  expect(await server.app.db.query("select 1 from credit_holds where state = 'held'")).toEqual([]);
});
