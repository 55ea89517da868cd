/** What happens to an account, or to another one, while requests wait for their runs: the waits are not affected. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { setPlan } from "../../src/accounts/index.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { findFaults } from "../support/installation-fixture.ts";
import { until } from "../support/promptd-process.ts";
import { errorOf, get, postRun, startRun } from "../wire/requests.ts";

const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text\ninputs: { ask: {} }\n---\n{{ ask }}\n";
let server: TestServer;
let promptVersionId: string;
const bodyOf = (ask: string) => ({ promptVersionId, inputs: { textInputs: { ask } } });
const openRuns = () => server.app.db.query<{ id: string }>("select id from runs where finished_at is null");

async function open(environment: Record<string, string>): Promise<void> {
  // No worker: a run ends when the test starts one.
  server = await startTestServer({ role: "api", environment });
  ({ promptVersionId } = await server.publish(ECHO));
}
afterEach(() => server.close());

async function expectAllAnswered(waits: readonly ReturnType<TestCaller["client"]["runs"]["create"]>[]): Promise<void> {
  await server.startAnother("worker");
  const runs = await Promise.all(waits);
  expect(runs.filter((run) => run.runStatus !== "succeeded")).toEqual([]);
  await until(async () => (await openRuns()).length === 0);
  expect(await findFaults(server.app.db)).toEqual([]);
}

describe("a flood of refused requests", () => {
  beforeEach(() => open({ PROMPTD_RATE_LIMIT_PER_SECOND: "5", PROMPTD_SYNC_WAIT_MS: "60000" }));

  test("costs none of a hundred waiting requests its response", async () => {
    const callers = await Promise.all(Array.from({ length: 20 }, () => server.createCaller()));
    const waits = callers.flatMap(({ client }) => Array.from({ length: 5 }, () => client.runs.create(bodyOf("hello"))));
    await until(async () => (await openRuns()).length === waits.length);
    const flooder = await server.createCaller();
    const answers = await Promise.all(Array.from({ length: 300 }, () => get(flooder.client, "/v1/me")));
    const refused = answers.filter((answer) => answer.httpStatus === 429);
    expect(answers.filter((answer) => ![200, 429].includes(answer.httpStatus))).toEqual([]);
    expect(refused.length).toBeGreaterThan(0);
    expect(await openRuns()).toHaveLength(waits.length);
    await expectAllAnswered(waits);
  });
});

describe("a plan that lapses while a request waits", () => {
  beforeEach(() => open({}));

  test("is 402 at once everywhere, does not interrupt the wait, and is lifted by the first request after its renewal", async () => {
    const { client, accountId } = await server.createCaller();
    const wait = client.runs.create(bodyOf("hello"));
    await until(async () => (await openRuns()).length === 1);
    const [run] = await openRuns();
    await server.endPlan(accountId);
    const told = [
      await get(client, "/v1/me"),
      await get(client, `/v1/runs/${run?.id}`),
      await get(client, "/v1/runs"),
      await postRun(client, bodyOf("another")),
    ];
    expect(told.map((answer) => [answer.httpStatus, errorOf(answer).data])).toEqual(
      told.map(() => [402, { reason: "PLAN_LAPSED" }]),
    );
    await setPlan(server.app.db, accountId, { plan: "pro", untilMs: null });
    expect((await get(client, `/v1/runs/${run?.id}`)).httpStatus).toBe(200);
    await startRun(client, bodyOf("another"));
    await expectAllAnswered([wait]);
  });

  test("and is not renewed does not revoke what was accepted: the wait gets its response", async () => {
    const { client, accountId } = await server.createCaller();
    const wait = client.runs.create(bodyOf("hello"));
    await until(async () => (await openRuns()).length === 1);
    await server.endPlan(accountId);
    await expectAllAnswered([wait]);
    expect((await get(client, "/v1/me")).httpStatus).toBe(402);
  });
});
