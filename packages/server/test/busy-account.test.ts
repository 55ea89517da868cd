/** An account that others keep busy: whoever waits for it waits, and is not told that something broke. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "./harness.ts";
import { promptFile } from "./prompt-files.ts";
import { bodyOf } from "./wire/requests.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

test("a run whose account is locked for longer than a statement waits for a lock is created when it is free", async () => {
  const { promptVersionId } = await server.publish(promptFile());
  const { client, accountId } = await server.createCaller({ credits: 100 });
  const locked = Promise.withResolvers<void>();
  const holder = server.app.db.tx(async (tx) => {
    await tx.query("select 1 from credit_accounts where account_id = $1 for update", [accountId]);
    locked.resolve();
    await tx.query("select pg_sleep(3.5)"); // a statement gives up after three seconds
  });
  await locked.promise;
  const run = await client.runs.createAndWait(bodyOf(promptVersionId));
  expect(run).toMatchObject({ runStatus: "succeeded" });
  await holder;
  expect((await client.runs.list()).rows).toHaveLength(1);
  expect((await server.checkLedger()).mismatches).toEqual([]);
});
