/** Events in transit: what a receiver gets, when it is retried, and what happens to a receiver that fails. */
import type { Delivery, WebhookEventName } from "@promptd/contract/manage";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pollUntil } from "../../src/platform/resilience/deadline.ts";
import { startMailServer, type TestMailServer } from "../people/mail-fixture.ts";
import { createTestPerson, type TestPerson } from "../people/people-fixture.ts";
import { directedPrompt } from "../prompts/prompt-files.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { bodyOf, cancelRun, startRun } from "../wire/requests.ts";
import {
  isVerified,
  startWebhookReceiver,
  verify,
  type ReceivedEvent,
  type WebhookReceiver,
} from "./webhook-receiver.ts";

let server: TestServer;
let receiver: WebhookReceiver;
let mails: TestMailServer;
let promptVersionId: string;
beforeAll(async () => {
  mails = await startMailServer();
  server = await startTestServer({
    environment: {
      PROMPTD_WEBHOOK_PRIVATE_ADDRESSES: "on",
      PROMPTD_SMTP_URL: mails.url,
      PROMPTD_MAIL_FROM: "promptd <promptd@example.org>",
    },
  });
  receiver = await startWebhookReceiver();
  ({ promptVersionId } = await server.publish(
    directedPrompt({ body: "sandbox: {{ do }}\nThe template of an author." }),
  ));
});
afterAll(async () => {
  await server.close();
  await Promise.all([receiver.close(), mails.close()]);
});
beforeEach(() => receiver.reset());

interface Subscriber {
  readonly person: TestPerson;
  readonly caller: TestCaller;
  readonly webhookId: string;
  readonly secret: string;
}

async function subscribe(events: readonly WebhookEventName[] = ["run.finished"], url = receiver.url) {
  const person = await createTestPerson(server);
  await server.grant(person.accountId, { amount: 1_000 });
  await server.app.db.query("update accounts set pro_until = 'infinity' where id = $1", [person.accountId]);
  const caller = await server.createKey(person.accountId);
  const { webhookId, secret } = await person.client.send("createWebhook", { body: { url, events } });
  return { person, caller, webhookId, secret } satisfies Subscriber;
}

const run = ({ caller }: Subscriber, words = "tokens=5") =>
  caller.client.runs.create(bodyOf(promptVersionId, { do: words }), { idempotencyKey: null });

/** The event of a run: an attempt of an earlier test's event can still arrive. */
async function eventOf(runId: string): Promise<ReceivedEvent> {
  const [event] = await receiver.atLeast(1, ({ body }) => body.includes(runId));
  if (event === undefined) throw new Error("no event");
  return event;
}

async function deliveriesOf({ person, webhookId }: Subscriber): Promise<readonly Delivery[]> {
  return (await person.client.send("listDeliveries", { params: { webhookId }, query: { limit: 50 } })).rows;
}

/** The newest delivery, once it matches. */
async function deliveryWhere(one: Subscriber, fits: (delivery: Delivery) => boolean): Promise<Delivery> {
  const found = await pollUntil(
    async () => {
      const [newest] = await deliveriesOf(one);
      return newest !== undefined && fits(newest) ? newest : null;
    },
    { everyMs: 20, timeoutMs: 20_000 },
  );
  if (found === null) throw new Error(`not what the test waits for: ${JSON.stringify(await deliveriesOf(one))}`);
  return found;
}

/** Its first attempt has failed, and so will the others. */
async function subscribeToFail(): Promise<Subscriber> {
  const one = await subscribe();
  receiver.answer = (response) => void response.writeHead(500).end();
  await run(one);
  await deliveryWhere(one, ({ fault }) => fault !== null);
  return one;
}

const makeDue = ({ webhookId }: Subscriber) =>
  server.app.db.query("update webhook_deliveries set due_at = promptd_now() where webhook_id = $1 and not is_sending", [
    webhookId,
  ]);

describe("the event of a run", () => {
  test("is sent once, verifies with the Standard Webhooks library, and shows the run without inputs and template", async () => {
    const one = await subscribe();
    const { runId, outputs } = await run(one);
    const event = await eventOf(runId);
    const body = verify(event, one.secret);
    expect(body).toEqual({
      type: "run.finished",
      timestamp: expect.any(String),
      data: {
        runId,
        runStatus: "succeeded",
        promptVersionId,
        runName: expect.any(String),
        credits: 1,
        reason: null,
        createdAt: expect.any(String),
        finishedAt: expect.any(String),
        outputs,
      },
    });
    expect(event.headers).toMatchObject({ "content-type": "application/json", "user-agent": "promptd" });
    const delivery = await deliveryWhere(one, ({ state }) => state === "delivered");
    expect(delivery).toMatchObject({
      deliveryId: event.headers["webhook-id"],
      event: "run.finished",
      runId,
      attempts: 1,
      statusCode: 204,
      fault: null,
      nextAttemptAt: null,
    });
    expect(event.body).not.toContain("The template of an author");
    expect(event.body).not.toContain("tokens=5");
    expect(receiver.received).toHaveLength(1);
  });

  test("is sent for failed and canceled runs, with the reason, but without details of the provider's failure", async () => {
    const one = await subscribe();
    const failed = await run(one, "error=400");
    const runId = await startRun(one.caller.client, bodyOf(promptVersionId, { do: "delay=600000" }));
    await cancelRun(one.caller.client, runId);
    const dataOf = async (id: string) => (await eventOf(id)).event.data;
    expect(await dataOf(runId)).toMatchObject({ runStatus: "failed", reason: "canceled", credits: 0 });
    expect(await dataOf(failed.runId)).toMatchObject({ runStatus: "failed", reason: "no_usable_output", credits: 0 });
  });

  test("omits outputs that are larger than an event may be", async () => {
    const one = await subscribe();
    const { runId } = await run(one, "size=400");
    const { event } = await eventOf(runId);
    expect(event).toMatchObject({ data: { runId, runStatus: "succeeded", outputs: null } });
  });

  test("is not recorded for a webhook that did not request it, is disabled, or belongs to another account", async () => {
    const asks = await subscribe();
    const other = await subscribe(["credits.low"]);
    const disabled = await subscribe();
    const params = { webhookId: disabled.webhookId };
    await disabled.person.client.send("updateWebhook", { params, body: { isEnabled: false } });
    await run(other);
    await run(disabled);
    await run(asks);
    await deliveryWhere(asks, ({ state }) => state === "delivered");
    expect(await deliveriesOf(asks)).toHaveLength(1);
    expect([await deliveriesOf(other), await deliveriesOf(disabled)]).toEqual([[], []]);
  });
});

describe("an attempt that fails", () => {
  test("is followed by others with the same id and body, at growing intervals, until one gets a 2xx", async () => {
    const one = await subscribe();
    let failures = 2;
    receiver.answer = (response) => {
      failures -= 1;
      response.writeHead(failures >= 0 ? 503 : 200).end("x".repeat(100_000));
    };
    await server.freezeTime(Date.now()); // nothing is due before the test says so
    await run(one);
    const waits: number[] = [];
    for (const attempts of [1, 2]) {
      const failed = await deliveryWhere(one, (delivery) => delivery.attempts === attempts && delivery.fault !== null);
      expect(failed).toMatchObject({
        state: "pending",
        statusCode: 503,
        fault: "The receiver responded with status 503.",
      });
      waits.push(Date.parse(failed.nextAttemptAt ?? "") - Date.parse(failed.lastAttemptAt ?? ""));
      await makeDue(one);
    }
    expect(await deliveryWhere(one, ({ state }) => state === "delivered")).toMatchObject({ attempts: 3, fault: null });
    const bodies = new Set(receiver.received.map(({ headers, body }) => `${String(headers["webhook-id"])} ${body}`));
    expect(bodies.size).toBe(1);
    expect(waits.map((ms) => Math.round(ms / 1_000))).toEqual([5, 30]);
    await server.shiftTime(0);
  });

  test("for the tenth time is the last, and the delivery has failed until somebody repeats it", async () => {
    const one = await subscribeToFail();
    await server.app.db.query("update webhook_deliveries set attempts = 9 where webhook_id = $1", [one.webhookId]);
    await makeDue(one);
    const failed = await deliveryWhere(one, ({ state }) => state === "failed");
    expect(failed).toMatchObject({
      attempts: 10,
      nextAttemptAt: null,
      fault: "The receiver responded with status 500.",
    });
    receiver.reset();
    const params = { webhookId: one.webhookId, deliveryId: failed.deliveryId };
    expect(await one.person.client.send("repeatDelivery", { params })).toMatchObject({ state: "pending" });
    const repeated = await eventOf(failed.runId ?? "");
    expect(repeated.headers["webhook-id"]).toBe(failed.deliveryId);
    await deliveryWhere(one, ({ state }) => state === "delivered");
  });

  test("is repeated although its time is days away because the clock has stepped back since", async () => {
    const one = await subscribeToFail();
    receiver.reset();
    const { db } = server.app;
    const later = "update webhook_deliveries set due_at = promptd_now() + interval '2 days' where webhook_id = $1";
    await db.query(later, [one.webhookId]);
    await db.query("update cron_ticks set next_at = promptd_now() where name = 'webhook-deliveries'");
    await receiver.atLeast(1);
    expect(await deliveryWhere(one, ({ state }) => state === "delivered")).toMatchObject({ attempts: 2 });
  });

  test("follows no redirect", async () => {
    const one = await subscribe();
    receiver.answer = (response) => void response.writeHead(307, { location: `${receiver.url}/elsewhere` }).end();
    await run(one);
    expect(await deliveryWhere(one, ({ fault }) => fault !== null)).toMatchObject({ statusCode: 307 });
    expect(receiver.received.map(({ path }) => path)).toEqual(["/events"]);
  });

  test("with a 410 disables the webhook, gives up its pending deliveries, and notifies the owner", async () => {
    const one = await subscribe();
    receiver.answer = (response) => void response.writeHead(410).end();
    await run(one);
    await deliveryWhere(one, ({ state }) => state === "failed");
    const params = { webhookId: one.webhookId };
    const webhook = await one.person.client.send("getWebhook", { params });
    expect(webhook).toMatchObject({ disabledAt: expect.any(String), disabledReason: expect.stringMatching(/410/) });
    const { person } = await one.person.client.send("getSession");
    const mail = await mails.waitFor(person.email);
    expect(mail.raw).toContain("The receiver responded with status 410: it wants no more events.");
    expect(mail.link).toBe(receiver.url);
    const tried = one.person.client.send("testWebhook", { params });
    await expect(tried).rejects.toThrow("The webhook is disabled. Enable it first.");
    receiver.reset();
    const enabled = await one.person.client.send("updateWebhook", { params, body: { isEnabled: true } });
    expect(enabled).toMatchObject({ disabledAt: null, disabledReason: null, failingSince: null });
    await run(one);
    await receiver.atLeast(1);
  });

  test("disables the webhook when none has succeeded for three days, and says so", async () => {
    const one = await subscribeToFail();
    const params = { webhookId: one.webhookId };
    expect((await one.person.client.send("getWebhook", { params })).failingSince).not.toBeNull();
    const text = "update webhooks set failing_since = promptd_now() - interval '3 days' where id = $1";
    await server.app.db.query(text, [one.webhookId]);
    await makeDue(one);
    await deliveryWhere(one, ({ attempts, nextAttemptAt }) => attempts === 2 && nextAttemptAt !== null);
    const webhook = await pollUntil(
      async () => {
        const found = await one.person.client.send("getWebhook", { params });
        return found.disabledAt === null ? null : found;
      },
      { everyMs: 20, timeoutMs: 10_000 },
    );
    expect(webhook?.disabledReason).toBe("No delivery has succeeded for 3 days.");
  });

  test("whose process was killed is given up with the rest when the webhook is disabled", async () => {
    const one = await subscribe();
    await one.person.client.send("updateWebhook", { params: { webhookId: one.webhookId }, body: { isEnabled: false } });
    const cutOff = `insert into webhook_deliveries (id, account_id, webhook_id, event, data, is_sending, attempts, due_at)
      select promptd_new_id(), $1, $2, 'webhook.test', '{}', true, 1, promptd_now() + due
      from (values (interval '-1 s'), (interval '1 minute')) leases (due)`;
    await server.app.db.query(cutOff, [one.person.accountId, one.webhookId]);
    await server.app.db.query("select webhook_give_up(100, 'The webhook is disabled.')");
    expect((await deliveriesOf(one)).map(({ state }) => state).toSorted()).toEqual(["failed", "pending"]);
  });

  test("is forgiven after a success", async () => {
    const one = await subscribeToFail();
    receiver.reset();
    await makeDue(one);
    await deliveryWhere(one, ({ state }) => state === "delivered");
    const webhook = await one.person.client.send("getWebhook", { params: { webhookId: one.webhookId } });
    expect(webhook.failingSince).toBeNull();
  });
});

describe("the secret", () => {
  test("is rolled: for a day events are signed with both, then only with the new one", async () => {
    const one = await subscribe();
    const params = { webhookId: one.webhookId };
    const rolled = await one.person.client.send("rollWebhookSecret", { params });
    expect(rolled.secret).not.toBe(one.secret);
    const hours = (Date.parse(rolled.previousSecretUntil ?? "") - Date.now()) / 3_600_000;
    expect(Math.round(hours)).toBe(24);
    const both = await eventOf((await run(one)).runId);
    expect([isVerified(both, one.secret), isVerified(both, rolled.secret)]).toEqual([true, true]);
    await server.app.db.query("update webhooks set previous_secret_until = promptd_now() where id = $1", [
      one.webhookId,
    ]);
    const alone = await eventOf((await run(one)).runId);
    expect([isVerified(alone, one.secret), isVerified(alone, rolled.secret)]).toEqual([false, true]);
  });
});

describe("a receiver that hangs", () => {
  test("delays no other account, and no other webhook of its own account", async () => {
    const [slow, quick] = [await startWebhookReceiver(), await startWebhookReceiver()];
    slow.answer = () => {}; // never
    const hanging = await subscribe(["run.finished"], slow.url);
    const mine = await hanging.person.client.send("createWebhook", {
      body: { url: quick.url, events: ["run.finished"] },
    });
    const text = `insert into webhook_deliveries (id, account_id, webhook_id, event, data)
      select promptd_new_id(), $1, $2, 'webhook.test', '{}' from generate_series(1, 100)`;
    await server.app.db.query(text, [hanging.person.accountId, hanging.webhookId]);
    await slow.atLeast(4);
    const other = await subscribe();
    await Promise.all([run(other), run(hanging)]);
    await Promise.all([receiver.atLeast(1), quick.atLeast(1)]);
    await deliveryWhere({ ...hanging, webhookId: mine.webhookId }, ({ state }) => state === "delivered");
    expect(slow.received).toHaveLength(4);
    await server.app.db.query("delete from webhook_deliveries where webhook_id = $1 and not is_sending", [
      hanging.webhookId,
    ]);
    await Promise.all([slow.close(), quick.close()]);
  });
});
