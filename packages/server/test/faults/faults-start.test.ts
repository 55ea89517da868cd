/** The database's connections are lost while a process starts. */
import { expect, onTestFinished, test } from "vitest";
import type { App } from "../../src/app.ts";
import { StartFailure } from "../../src/start-failure.ts";
import { startTestServer } from "../support/test-server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text\ninputs: { ask: {} }\n---\n{{ ask }}\n";

/** More than one statement takes tries by itself. */
const REFUSALS = 5;

const DATABASE_IS_GONE =
  /^(The database cannot be used: )?(Connection terminated|connect ECONN|read ECONN|write EPIPE)/;

/** @returns the process, or what a person is told of why it did not start; whatever else it throws is a fault. */
async function outcomeOf(start: Promise<App>): Promise<App | string> {
  try {
    return await start;
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    return error.message;
  }
}

test("at whichever answer of the database it crashes, a process that has opened it starts and works, and one that has not says so", async () => {
  const server = await startTestServer({ role: "api" });
  onTestFinished(() => server.close());
  const { promptVersionId } = await server.publish(ECHO);
  const { apiKey } = await server.createCaller();
  const proxy = await startTcpProxy(server.databaseUrl);
  onTestFinished(() => proxy.close());

  const refusals: { n: number; told: string }[] = [];
  for (let n = 1; ; n += 1) {
    const endCrash = proxy.crashOnAnswerNumber(n, REFUSALS);
    const outcome = await outcomeOf(server.startAnother("all", { DATABASE_URL: proxy.url }));
    const hasCrashed = endCrash();
    if (typeof outcome === "string") {
      refusals.push({ n, told: outcome });
      continue;
    }
    const run = { promptVersionId, inputs: { textInputs: { ask: "hello" } } };
    expect((await server.clientOf(apiKey, outcome.listenUrl ?? "").runs.create(run)).runStatus).toBe("succeeded");
    await outcome.close();
    if (!hasCrashed) break;
  }
  expect(refusals.map(({ n }) => n)).toEqual(refusals.map((_, at) => at + 1));
  expect(refusals.filter(({ told }) => !DATABASE_IS_GONE.test(told))).toEqual([]);
}, 300_000);
