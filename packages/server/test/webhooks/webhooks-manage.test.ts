/** Webhooks over the management API: what they show, what they refuse, and what causes their events. */
import type { NewWebhook, WebhookEvent } from "@promptd/contract/manage";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adjustCredits } from "../../src/credits/index.ts";
import type { GuardedPost } from "../../src/files/index.ts";
import { createLog } from "../../src/platform/log.ts";
import { orAborted, pollUntil } from "../../src/platform/resilience/deadline.ts";
import type { DelivererOptions } from "../../src/webhooks/deliver.ts";
import { pruneDeliveries } from "../../src/webhooks/deliveries-store.ts";
import { createDeliverer, createSecretVault, type SecretVault } from "../../src/webhooks/index.ts";
import { noteRetiringModels, resealSecrets } from "../../src/webhooks/webhooks-ticks.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createTestPerson, type TestPerson } from "../people/people-fixture.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { bodyOf, errorOf, issueLines, RANDOM_ID } from "../wire/requests.ts";

let server: TestServer;
let ada: TestPerson;
let bob: TestPerson;
/** Nothing is sent: recorded deliveries stay pending. */
beforeAll(async () => {
  server = await startTestServer({ role: "api" });
  [ada, bob] = [await createTestPerson(server), await createTestPerson(server)];
});
afterAll(() => server.close());

const URL_OK = "https://receiver.example.org/events";
const create = (person: TestPerson, body: Partial<NewWebhook> = {}) =>
  person.client.send("createWebhook", { body: { url: URL_OK, events: ["run.finished"], ...body } });

async function eventsOf(webhookId: string): Promise<readonly { event: string; data: unknown }[]> {
  return server.app.db.query("select event, data from webhook_deliveries where webhook_id = $1 order by id", [
    webhookId,
  ]);
}

describe("a webhook", () => {
  test("shows its secret once, and nothing else contains it in readable form", async () => {
    const { secret, ...webhook } = await create(ada, { events: ["credits.low", "run.finished"] });
    expect(secret).toMatch(/^whsec_[\w+/]{32}$/);
    expect(webhook).toEqual({
      webhookId: expect.any(String),
      url: URL_OK,
      events: ["run.finished", "credits.low"],
      createdAt: expect.any(String),
      disabledAt: null,
      disabledReason: null,
      failingSince: null,
      previousSecretUntil: null,
    });
    const params = { webhookId: webhook.webhookId };
    expect(await ada.client.send("getWebhook", { params })).toEqual(webhook);
    expect((await ada.client.send("listWebhooks")).rows).toContainEqual(webhook);
    const { db } = server.app;
    const [row] = await db.query<{ secret: Buffer }>("select secret from webhooks where id = $1", [params.webhookId]);
    expect(row?.secret.includes(Buffer.from(secret.slice("whsec_".length), "base64"))).toBe(false);
    expect(JSON.stringify(await db.query("select * from audit_entries"))).not.toContain(secret);
    expect(await db.query("select subject from audit_entries where action = 'createWebhook'")).toContainEqual({
      subject: params.webhookId,
    });
  });

  test("of another account gives the same bytes as a missing one, for every action", async () => {
    const { webhookId } = await create(bob);
    const delivery = await bob.client.send("testWebhook", { params: { webhookId } });
    const acts = [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["POST", "/roll"],
      ["POST", "/test"],
      ["GET", "/deliveries"],
      ["POST", `/deliveries/${delivery.deliveryId}/repeat`],
    ] as const;
    for (const [method, rest] of acts) {
      const [foreign, absent] = await Promise.all(
        [webhookId, RANDOM_ID].map(async (id) => {
          const body = method === "PATCH" ? { isEnabled: false } : undefined;
          const path = `/manage/v1/webhooks/${id}${rest}`;
          const answer = await ada.client.request({ method, path, ...(body === undefined ? {} : { body }) });
          return [answer.httpStatus, answer.text.replaceAll(id, "ID")];
        }),
      );
      expect(foreign?.[0], `${method} ${rest}`).toBe(404);
      expect(foreign).toEqual(absent);
    }
    const mine = await create(ada);
    const path = `/manage/v1/webhooks/${mine.webhookId}/deliveries/${delivery.deliveryId}/repeat`;
    expect((await ada.client.request({ method: "POST", path })).httpStatus).toBe(404);
    expect((await bob.client.send("getWebhook", { params: { webhookId } })).disabledAt).toBeNull();
  });

  test.each([
    "http://example.org/",
    "https://example.org:8443/",
    "https://user:password@example.org/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://2130706433/",
    "https://169.254.169.254/latest/meta-data",
    "https://10.0.0.7/",
    "https://intranet/",
    "https://metadata.localhost/",
    "ftp://example.org/",
    "events",
  ])("is not created for %s", async (url) => {
    const answer = await ada.client.request({
      method: "POST",
      path: "/manage/v1/webhooks",
      body: { url, events: ["run.finished"] },
    });
    expect([answer.httpStatus, issueLines(answer)]).toEqual([422, ["invalid_value body.url"]]);
    const { webhookId } = await create(bob);
    const path = `/manage/v1/webhooks/${webhookId}`;
    expect((await bob.client.request({ method: "PATCH", path, body: { url } })).httpStatus).toBe(422);
    await bob.client.send("deleteWebhook", { params: { webhookId } });
  });

  test("names only existing events, and there are at most ten per account", async () => {
    const person = await createTestPerson(server);
    for (let i = 0; i < 10; i += 1) await create(person);
    const more = await person.client.request({
      method: "POST",
      path: "/manage/v1/webhooks",
      body: { url: URL_OK, events: ["run.finished"] },
    });
    expect(errorOf(more).data).toMatchObject({ issues: [{ code: "too_many" }] });
    const strange = await person.client.request({
      method: "POST",
      path: "/manage/v1/webhooks",
      body: { url: URL_OK, events: ["run.started"] },
    });
    expect(issueLines(strange)).toEqual(["invalid_value body.events"]);
  });

  test("that is deleted is gone at once, and so is its secret", async () => {
    const { webhookId } = await create(ada);
    await ada.client.send("testWebhook", { params: { webhookId } });
    await ada.client.send("deleteWebhook", { params: { webhookId } });
    await expect(ada.client.send("getWebhook", { params: { webhookId } })).rejects.toThrow("No webhook has the id");
    // The next round of pruning, which may be now, removes the row too.
    const left = await server.app.db.query("select 1 from webhooks where id = $1 and length(secret) > 0", [webhookId]);
    expect(left).toEqual([]);
  });

  test("gets run events only through a row with the run's id, and never its text", async () => {
    const { webhookId } = await create(ada);
    await server.grant(ada.accountId, { amount: 50 });
    await server.app.db.query("update accounts set pro_until = 'infinity' where id = $1", [ada.accountId]);
    const { client } = await server.createKey(ada.accountId);
    const { promptVersionId } = await server.publish(textPrompt());
    const { runId } = await client.runs.create(bodyOf(promptVersionId, { topic: "SECRET WORDS" }), {
      respondAsync: true,
    });
    await client.runs.cancel(runId);
    const rows = await server.app.db.query("select * from webhook_deliveries where webhook_id = $1", [webhookId]);
    expect(rows).toMatchObject([{ run_id: runId, event: "run.finished", data: null }]);
  });
});

describe("the event sender", () => {
  const VAULT = createSecretVault(Buffer.from("c".repeat(40)), []);
  const NOBODY: Pick<GuardedPost, "faultOf"> = { faultOf: () => null };
  const open = (how: Partial<DelivererOptions>) =>
    createDeliverer({
      db: server.app.db,
      log: createLog("silent", "stderr"),
      clock: systemClock,
      vault: VAULT,
      poster: { ...NOBODY, post: () => Promise.resolve({ kind: "answered", statusCode: 204 }) },
      readRun: () => Promise.resolve(null),
      onDisabled: () => Promise.resolve(),
      ...how,
    });

  /** A webhook whose secret these tests' vault has sealed, with one event of its own. */
  async function waiting(): Promise<{ readonly person: TestPerson; readonly webhookId: string }> {
    await server.app.db.query("delete from webhook_deliveries");
    const person = await createTestPerson(server);
    const { webhookId } = await create(person);
    const sealed = VAULT.seal(webhookId, Buffer.from("a secret"));
    await server.app.db.query("update webhooks set secret = $2 where id = $1", [webhookId, sealed]);
    await person.client.send("testWebhook", { params: { webhookId } });
    return { person, webhookId };
  }
  const settled = async (webhookId: string) => {
    const text = `select state, attempts, is_sending, fault, due_at <= promptd_now() as is_due
      from webhook_deliveries where webhook_id = $1`;
    return pollUntil(
      async () => {
        const [row] = await server.app.db.query<{ is_sending: boolean; attempts: number }>(text, [webhookId]);
        return row === undefined || row.is_sending || row.attempts === 0 ? null : row;
      },
      { everyMs: 10, timeoutMs: 10_000 },
    );
  };

  test("releases an event that it is sending when its process stops, due at once for another process", async () => {
    const { webhookId } = await waiting();
    const begun = Promise.withResolvers<void>();
    const deliverer = open({
      poster: {
        ...NOBODY,
        post: (_address, _content, signal) => {
          begun.resolve();
          return orAborted(new Promise<never>(() => {}), signal);
        },
      },
    });
    await Promise.all([deliverer.deliverDue(), begun.promise]);
    await deliverer.stop();
    expect(await settled(webhookId)).toMatchObject({ state: "pending", attempts: 1, is_due: true });
    const other = open({});
    await other.deliverDue();
    expect(await settled(webhookId)).toMatchObject({ state: "delivered", attempts: 2 });
    await other.stop();
  });

  test("skips an event whose secret it cannot open, and blames nobody", async () => {
    const { person, webhookId } = await waiting();
    const deliverer = open({ vault: createSecretVault(Buffer.from("d".repeat(40)), []) });
    await deliverer.deliverDue();
    expect(await settled(webhookId)).toMatchObject({
      state: "pending",
      is_due: false,
      fault: "The webhook secret cannot be read. Roll it.",
    });
    await deliverer.stop();
    expect((await person.client.send("getWebhook", { params: { webhookId } })).failingSince).toBeNull();
  });

  test("reports a deleted run as gone, and sends nothing", async () => {
    const { webhookId } = await waiting();
    const write =
      "update webhook_deliveries set event = 'run.finished', run_id = $2, data = null where webhook_id = $1";
    await server.app.db.query(write, [webhookId, RANDOM_ID]);
    const deliverer = open({});
    await deliverer.deliverDue();
    expect(await settled(webhookId)).toMatchObject({ state: "failed", fault: "The run no longer exists." });
    await deliverer.stop();
  });

  test("sends what waits behind a full webhook as soon as an attempt has ended, without waiting for its next poll", async () => {
    const { person, webhookId } = await waiting();
    const more = `insert into webhook_deliveries (id, account_id, webhook_id, event, data)
      select promptd_new_id(), $1, $2, 'webhook.test', '{}' from generate_series(1, 59)`;
    await server.app.db.query(more, [person.accountId, webhookId]);
    const deliverer = open({ pollMs: 3_600_000 });
    deliverer.start();
    await deliverer.deliverDue();
    const left = "select 1 from webhook_deliveries where webhook_id = $1 and state <> 'delivered'";
    const isSent = async () => ((await server.app.db.query(left, [webhookId])).length === 0 ? true : null);
    expect(await pollUntil(isSent, { everyMs: 10, timeoutMs: 20_000 })).toBe(true);
    await deliverer.stop();
  });

  test("deletes deliveries after 30 days, and a secret that no longer signs", async () => {
    const { person, webhookId } = await waiting();
    await person.client.send("rollWebhookSecret", { params: { webhookId } });
    await server.app.db.query("update webhooks set previous_secret_until = promptd_now() where id = $1", [webhookId]);
    await pruneDeliveries(server.app.db, systemClock.nowMs() - 1_000 * 86_400 * 30);
    expect(await eventsOf(webhookId)).toHaveLength(1);
    await pruneDeliveries(server.app.db, systemClock.nowMs() + 1_000);
    expect(await eventsOf(webhookId)).toEqual([]);
    const [row] = await server.app.db.query("select previous_secret from webhooks where id = $1", [webhookId]);
    expect(row).toEqual({ previous_secret: null });
  });
});

describe("credits.low", () => {
  const compare = () => server.app.db.query("select webhook_credits_compared()");
  const alert = (person: TestPerson, below: number | null) =>
    person.client.send("setCreditsAlert", { body: { below } });

  test("comes once when credits fall below the threshold, and again after they rose, at least an hour later", async () => {
    const person = await createTestPerson(server);
    const { webhookId } = await create(person, { events: ["credits.low"] });
    await server.grant(person.accountId, { amount: 40 });
    expect(await person.client.send("getCreditsAlert")).toEqual({ below: null, isLow: false });
    expect(await alert(person, 50)).toEqual({ below: 50, isLow: false });
    await compare();
    await compare();
    expect(await eventsOf(webhookId)).toEqual([{ event: "credits.low", data: { available: 40, below: 50 } }]);
    expect(await person.client.send("getCreditsAlert")).toEqual({ below: 50, isLow: true });
    await server.grant(person.accountId, { amount: 100 });
    await compare();
    expect(await person.client.send("getCreditsAlert")).toEqual({ below: 50, isLow: false });
    await adjustCredits(server.app.db, { accountId: person.accountId, amount: -120, reason: "test" });
    await compare();
    expect(await eventsOf(webhookId)).toHaveLength(1);
    await server.shiftTime(3_601);
    await compare();
    await server.shiftTime(0);
    expect(await eventsOf(webhookId)).toHaveLength(2);
  });

  test("does not come without a threshold, above it, or without a webhook that wants it", async () => {
    const [none, above, other] = [
      await createTestPerson(server),
      await createTestPerson(server),
      await createTestPerson(server),
    ];
    const ids = [
      (await create(none, { events: ["credits.low"] })).webhookId,
      (await create(above, { events: ["credits.low"] })).webhookId,
      (await create(other)).webhookId,
    ];
    await server.grant(above.accountId, { amount: 10 });
    await alert(above, 10);
    await alert(other, 10);
    await alert(none, 5);
    await alert(none, null);
    await compare();
    expect((await Promise.all(ids.map(eventsOf))).flat()).toEqual([]);
  });
});

describe("prompt.model_retiring", () => {
  const DAY = 86_400_000;
  const dayIn = (days: number) => new Date(systemClock.nowMs() + days * DAY).toISOString().slice(0, 10);
  const note = (retiresAt: string) =>
    noteRetiringModels({
      db: server.app.db,
      clock: systemClock,
      catalogue: {
        entries: [{ model: "sandbox/text", status: "deprecated", retiresAt, successor: "sandbox/text-free" }],
      },
    });

  test("comes once per live version, model, and date, only to its author", async () => {
    const [author, reader] = [await createTestPerson(server), await createTestPerson(server)];
    const mine = await create(author, { events: ["prompt.model_retiring"] });
    const theirs = await create(reader, { events: ["prompt.model_retiring"] });
    const live = await server.publish(textPrompt(), { authorId: author.accountId });
    const gone = await server.publish(textPrompt(), { authorId: author.accountId });
    await server.unpublish(gone.promptId);
    await note(dayIn(90));
    expect(await eventsOf(mine.webhookId)).toEqual([]);
    const retiresAt = dayIn(30);
    await note(retiresAt);
    await note(retiresAt);
    expect(await eventsOf(mine.webhookId)).toEqual([
      {
        event: "prompt.model_retiring",
        data: {
          promptId: live.promptId,
          promptVersionId: live.promptVersionId,
          slug: live.slug,
          title: "Wire test",
          model: "sandbox/text",
          retiresAt,
          successor: "sandbox/text-free",
        } satisfies Extract<WebhookEvent, { type: "prompt.model_retiring" }>["data"],
      },
    ]);
    await note(dayIn(20));
    expect(await eventsOf(mine.webhookId)).toHaveLength(2);
    expect(await eventsOf(theirs.webhookId)).toEqual([]);
  });
});

describe("the server's secret", () => {
  const SECRETS = [Buffer.from("a".repeat(40)), Buffer.from("b".repeat(40))] as const;
  const sealedOf = async (webhookId: string) => {
    const text = "select secret, previous_secret from webhooks where id = $1";
    const [row] = await server.app.db.query<{ secret: Buffer; previous_secret: Buffer | null }>(text, [webhookId]);
    return row ?? { secret: Buffer.alloc(0), previous_secret: null };
  };

  test("is rotated: both secrets of a webhook are resealed, and the old one is no longer needed", async () => {
    const { webhookId } = await create(ada);
    await ada.client.send("rollWebhookSecret", { params: { webhookId } });
    const [before, after]: [SecretVault, SecretVault] = [
      createSecretVault(SECRETS[0], []),
      createSecretVault(SECRETS[1], [SECRETS[0]]),
    ];
    const [present, previous] = [Buffer.from("present"), Buffer.from("previous")];
    const write = "update webhooks set secret = $2, previous_secret = $3 where id = $1";
    const sealed = [before.seal(webhookId, present), before.seal(webhookId, previous)];
    await server.app.db.query(write, [webhookId, ...sealed]);
    await resealSecrets({ db: server.app.db, vault: after });
    const alone = createSecretVault(SECRETS[1], []);
    const row = await sealedOf(webhookId);
    expect(alone.open(webhookId, row.secret)).toEqual(present);
    expect(alone.open(webhookId, row.previous_secret ?? Buffer.alloc(0))).toEqual(previous);
    expect(before.open(webhookId, row.secret)).toBeNull();
    await resealSecrets({ db: server.app.db, vault: after });
    expect((await sealedOf(webhookId)).secret).toEqual(row.secret);
  });

  test("that is lost opens nothing, and leaves what it cannot open unchanged", async () => {
    const vault = createSecretVault(SECRETS[0], []);
    const sealed = vault.seal("one", Buffer.from("text"));
    expect(vault.open("one", sealed)).toEqual(Buffer.from("text"));
    expect(vault.open("another", sealed)).toBeNull();
    expect(createSecretVault(SECRETS[1], []).open("one", sealed)).toBeNull();
    const { webhookId } = await create(ada);
    const { secret } = await sealedOf(webhookId);
    await resealSecrets({ db: server.app.db, vault });
    expect((await sealedOf(webhookId)).secret).toEqual(secret);
  });
});
