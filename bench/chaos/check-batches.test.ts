/** Guarantees of batches and webhooks, broken by hand: the check must name each one. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { setPlan } from "../../packages/server/src/accounts/index.ts";
import { createTestPerson } from "../../packages/server/test/people/people-fixture.ts";
import { directedPrompt } from "../../packages/server/test/prompts/prompt-files.ts";
import { startTestServer, type TestServer } from "../../packages/server/test/support/test-server.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../../packages/server/test/webhooks/webhook-receiver.ts";
import { awaitDeliveries, checkBatches } from "./check-batches.ts";

let server: TestServer;
let receiver: WebhookReceiver;
let heard: ReadonlySet<string>;

beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_WEBHOOK_PRIVATE_ADDRESSES: "on" } });
  receiver = await startWebhookReceiver();
  const person = await createTestPerson(server);
  await setPlan(server.app.db, person.accountId, { plan: "pro", untilMs: null });
  await server.grant(person.accountId, { amount: 1_000 });
  await person.client.send("createWebhook", { body: { url: receiver.url, events: ["run.finished"] } });
  const { client } = await server.createKey(person.accountId);
  const { promptVersionId } = await server.publish(directedPrompt());
  const items = ["tokens=1", "refuse", "tokens=2"].map((behavior) => ({ inputs: { textInputs: { do: behavior } } }));
  const { batchId } = await client.batches.create({ promptVersionId, items });
  await client.batches.wait(batchId, { pollMs: 20 });
  await awaitDeliveries(server.app.db, 10_000);
  heard = new Set(receiver.received.flatMap(({ event }) => (event.type === "run.finished" ? [event.data.runId] : [])));
});
afterAll(async () => {
  await receiver.close();
  await server.close();
});

test("nothing is found if all went well", async () => {
  expect(await checkBatches(server.app.db, heard)).toEqual([]);
});

test("an end that was sent to no webhook is found", async () => {
  expect((await checkBatches(server.app.db, new Set([...heard].slice(1))))[0]).toContain("never heard of");
});

test.each([
  ["update batches set finished_at = null", "a batch that has not ended"],
  ["update batch_items set ended_at = null where item = 1", "an item of a finished batch that has not ended"],
  [
    "update batch_items set run_id = (select run_id from batch_items where item = 0) where item = 1",
    "a run of two items",
  ],
  ["update batch_items set run_id = null, error = 'x' where item = 1", "a run of a batch that none of its items has"],
  ["update batch_items set run_id = gen_random_uuid() where item = 1", "an item whose run does not exist"],
  ["update batches set credits = credits + 1", "a batch with wrong sums"],
  [
    "delete from webhook_deliveries where run_id = (select run_id from batch_items where item = 0)",
    "an end without its one event",
  ],
])("%s is found", async (statement, fault) => {
  const undone = new Error("undone");
  const check = server.app.db.tx(async (tx) => {
    await tx.query(statement);
    const faults = await checkBatches(
      { ...server.app.db, tx: (work) => work(tx), query: (...asked) => tx.query(...asked) },
      heard,
    );
    expect(faults.some((found) => found.startsWith(fault))).toBe(true);
    throw undone;
  });
  await expect(check).rejects.toBe(undone);
});
