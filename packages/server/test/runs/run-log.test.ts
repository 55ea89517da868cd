/** What the log says about runs and requests: facts an operator can filter by, and nothing about their content. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { eventually } from "../support/eventually.ts";

const log = createLog("silent", "stderr");
const info = vi.spyOn(log, "info");
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ log });
});
afterAll(() => server.close());

const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text-free\ninputs: { ask: {} }\n---\n{{ ask }}\n";

test("the end of a run is one log line, which says whether this worker's end is the one that counts", async () => {
  const prompt = await server.publish(ECHO);
  const { client, accountId } = await server.createCaller();
  const run = await client.runs.createAndWait({
    promptVersionId: prompt.promptVersionId,
    inputs: { textInputs: { ask: "a secret wish" } },
  });
  expect(run.runStatus).toBe("succeeded");
  const lines = await eventually(() => {
    const found = info.mock.calls.map((call): unknown[] => call).filter(([, message]) => message === "run finished");
    expect(found).not.toEqual([]);
    return found;
  });
  const facts = { accountId, runId: run.runId, attempt: 1, model: "sandbox/text-free", status: "succeeded" };
  const rest = { reason: null, isOurs: true, durationMs: expect.any(Number) as number };
  expect(lines).toEqual([[{ ...facts, ...rest }, "run finished"]]);
  expect(JSON.stringify(info.mock.calls)).not.toContain("secret wish");
});

test("the line of a request names its account and API key, also when the key was refused", async () => {
  const { client, accountId, keyId } = await server.createCaller();
  const linesOfKey = () => info.mock.calls.map((call): unknown => call[0]).filter((fields) => isOf(fields, keyId));
  await client.me.get();
  await server.endPlan(accountId);
  await expect(client.me.get()).rejects.toMatchObject({ httpStatus: 402 });
  await server.revokeKey(keyId);
  await expect(client.me.get()).rejects.toMatchObject({ httpStatus: 401 });
  const lines = await eventually(() => {
    expect(linesOfKey()).toHaveLength(3);
    return linesOfKey();
  });
  expect(lines).toMatchObject([200, 402, 401].map((status) => ({ status, accountId, route: "/v1/me" })));
});

test("the line of a create names its run, also when the caller hangs up before it ends", async () => {
  const prompt = await server.publish(ECHO);
  const { client, keyId } = await server.createCaller();
  const hangUp = new AbortController();
  const body = { promptVersionId: prompt.promptVersionId, inputs: { textInputs: { ask: "sandbox: delay=20000" } } };
  const created = client.runs.createAndWait(body, { signal: hangUp.signal });
  const { runId } = await eventually(async () => {
    const [run] = (await client.runs.list()).rows;
    expect(run?.runStatus).toBe("running");
    return run ?? { runId: "" };
  });
  hangUp.abort();
  await expect(created).rejects.toThrow(/abort/i);
  const line = { keyId, route: "/v1/runs", method: "POST", status: null };
  await eventually(() => expect(info).toHaveBeenCalledWith(expect.objectContaining({ ...line, runId }), "request"));
  await client.runs.cancel(runId);
});

function isOf(fields: unknown, keyId: string): boolean {
  return typeof fields === "object" && fields !== null && "keyId" in fields && fields.keyId === keyId;
}
