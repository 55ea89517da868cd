/** What the log says about a run: facts an operator can filter by, and nothing about its content. */
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
