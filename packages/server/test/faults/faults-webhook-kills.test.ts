/** Webhooks while processes are killed: no end of a run without its event. */
import type { WebhookEvent } from "@promptd/contract/manage";
import { expect, test } from "vitest";
import { createApiKey } from "../../src/accounts/index.ts";
import { grantCredits } from "../../src/credits/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createClient } from "@promptd/client";
import { createTestPerson } from "../people/people-fixture.ts";
import { exitOf, until } from "../support/promptd-process.ts";
import { useInstallation } from "../support/use-installation.ts";
import { startWebhookReceiver, verify } from "../webhooks/webhook-receiver.ts";

const installation = useInstallation();
const RUNS = 40;
const ALLOWED = { PROMPTD_WEBHOOK_PRIVATE_ADDRESSES: "on", PROMPTD_PLANS: "off" };

test("every end of a run reaches its webhook, whichever worker is killed, before or after the receiver has responded", async () => {
  const fixture = installation();
  const { db } = fixture;
  const receiver = await startWebhookReceiver();
  const api = await fixture.startHere("api", ALLOWED);
  const { accountId, client: person } = await createTestPerson({ url: api.url, app: { db } });
  const { apiKey } = await createApiKey(db, createIdSource(systemClock), { accountId, name: "test" });
  await grantCredits(db, { accountId, amount: 10_000, reason: null, idempotencyKey: "test", expiresAt: null });
  const caller = createClient({ baseUrl: api.url, apiKey, maxRetries: 0 });
  const body = { url: receiver.url, events: ["run.finished" as const] };
  const { secret } = await person.send("createWebhook", { body });
  const runs = await Promise.all(
    Array.from({ length: RUNS }, (_, i) => {
      const ask = `sandbox: ${i % 5 === 4 ? "error=400" : `delay=${20 * i}`}\nrun ${i}`;
      const run = { promptVersionId: fixture.prompts.paid, inputs: { textInputs: { ask } } };
      return caller.runs.create(run, { respondAsync: true, idempotencyKey: null });
    }),
  );
  await caller.runs.cancel(runs[0]?.runId ?? ""); // ends without a worker
  const delivered = async () => (await db.query("select 1 from webhook_deliveries where state = 'delivered'")).length;

  // Dies between a response and writing it: that event is sent twice.
  await exitOf(fixture.start("worker", { ...ALLOWED, PROMPTD_FAULT: "webhook.before_settle:kill@3" }));
  const second = await fixture.start("worker", ALLOWED);
  await until(async () => (await delivered()) >= 5);
  await second.kill();
  await fixture.startHere("worker", ALLOWED);
  await until(async () => (await fixture.openRuns()) === 0);
  // The minute of the dead workers' leases has passed.
  await db.query("update webhook_deliveries set due_at = promptd_now() where state = 'pending'");
  await until(async () => (await delivered()) === RUNS);

  const ids = runs.map(({ runId }) => runId).toSorted();
  const rows = await db.query<{ run_id: string }>("select run_id from webhook_deliveries order by run_id");
  expect(rows.map((row) => row.run_id)).toEqual(ids);
  const idsOf = new Map<string, Set<unknown>>();
  for (const event of receiver.received) {
    const { data } = verify(event, secret) as Extract<WebhookEvent, { type: "run.finished" }>;
    idsOf.set(data.runId, (idsOf.get(data.runId) ?? new Set()).add(event.headers["webhook-id"]));
  }
  expect([...idsOf.keys()].toSorted()).toEqual(ids);
  expect([...idsOf.values()].every((known) => known.size === 1)).toBe(true);
  expect(receiver.received.length).toBeGreaterThan(RUNS);
  expect(await fixture.findFaults()).toEqual([]);
  await receiver.close();
});
