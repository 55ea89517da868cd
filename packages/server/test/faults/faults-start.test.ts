/** The database's connections are lost during a process's startup. */
import { expect, onTestFinished, test } from "vitest";
import { startTestServer } from "../support/test-server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text\ninputs: { ask: {} }\n---\n{{ ask }}\n";

/** More failures than a single statement retries by itself. */
const REFUSALS = 5;

test("a process starts and works, whichever database response a crash cuts off", async () => {
  const server = await startTestServer({ role: "api" });
  onTestFinished(() => server.close());
  const { promptVersionId } = await server.publish(ECHO);
  const { apiKey } = await server.createCaller();
  const proxy = await startTcpProxy(server.databaseUrl);
  onTestFinished(() => proxy.close());

  for (let n = 1; ; n += 1) {
    const endCrash = proxy.crashOnAnswerNumber(n, REFUSALS);
    const app = await server.startAnother("all", { DATABASE_URL: proxy.url });
    const hasCrashed = endCrash();
    const run = { promptVersionId, inputs: { textInputs: { ask: "hello" } } };
    expect((await server.clientOf(apiKey, app.listenUrl ?? "").runs.create(run)).runStatus).toBe("succeeded");
    await app.close();
    if (!hasCrashed) break;
  }
}, 300_000);
