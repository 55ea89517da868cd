/** Receivers that hang, of however many accounts, leave room for everyone else's events. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { GuardedPost } from "../../src/files/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import { orAborted } from "../../src/platform/resilience/deadline.ts";
import { createDeliverer, createSecretVault } from "../../src/webhooks/index.ts";
import { createTestPerson } from "../people/people-fixture.ts";
import { until } from "../support/promptd-process.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

/** Together they have at least as many events as a worker sends at once. */
const FAILING = 9;
const OF_WEBHOOK = 4;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ role: "api" });
});
afterAll(() => server.close());

const vault = createSecretVault(Buffer.from("c".repeat(40)), []);

/** A webhook of a new account, with due events. */
async function waiting(path: string, events: number): Promise<void> {
  const person = await createTestPerson(server);
  const url = `https://receiver.example.org/${path}`;
  const { webhookId } = await person.client.send("createWebhook", { body: { url, events: ["run.finished"] } });
  const secret = vault.seal(webhookId, Buffer.from("a secret"));
  const failingSince = path === "hangs" ? "promptd_now()" : "null";
  const text = `update webhooks set secret = $2, failing_since = ${failingSince} where id = $1`;
  await server.app.db.query(text, [webhookId, secret]);
  for (let n = 0; n < events; n += 1) await person.client.send("testWebhook", { params: { webhookId } });
}

test("failing webhooks together get half of what is sent at once", async () => {
  const sent: string[] = [];
  const poster: GuardedPost = {
    faultOf: () => null,
    post: async (address, _content, signal) => {
      sent.push(address);
      if (address.endsWith("/hangs")) await orAborted(new Promise<never>(() => {}), signal);
      return { kind: "answered", statusCode: 204 };
    },
  };
  const { db } = server.app;
  const deliverer = createDeliverer({
    db,
    log: createLog("silent", "stderr"),
    clock: systemClock,
    vault,
    poster,
    readRun: () => Promise.resolve(null),
    onDisabled: () => Promise.resolve(),
  });
  const hanging = () => sent.filter((address) => address.endsWith("/hangs")).length;
  const deliver = () => void deliverer.deliverDue().catch(() => undefined);
  for (let n = 0; n < FAILING; n += 1) await waiting("hangs", OF_WEBHOOK);
  deliver();
  await until(() => hanging() >= 16);
  await waiting("answers", 1);
  deliver();
  await until(() => sent.length > hanging());
  expect(hanging()).toBe(16);
  await deliverer.stop();
});
