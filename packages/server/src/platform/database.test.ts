import { expect, onTestFinished, test } from "vitest";
import { createTestDatabase } from "../../test/test-database.ts";
import { openDatabase, type Database } from "./database.ts";
import { createLog } from "./log.ts";

const TIMES = { connectTimeoutMs: 1_000, busyMsMax: 30_000 };

/** A database with one connection, taken by a transaction until `end` is called. */
async function openBusy(times: typeof TIMES): Promise<{ db: Database; end: () => Promise<void> }> {
  const database = await createTestDatabase();
  const db = await openDatabase({ url: database.url, role: "busy", log: createLog("silent"), poolMax: 1, times });
  const [started, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holder = db.tx(async (tx) => {
    await tx.query("select 1");
    started.resolve();
    await ended.promise;
    await tx.query("select pg_sleep(1.2)"); // longer than the opening of a connection may take
  });
  await started.promise;
  onTestFinished(async () => {
    ended.resolve();
    await holder;
    await db.close();
    await database.drop();
  });
  return {
    db,
    end: async () => {
      ended.resolve();
      await holder;
    },
  };
}

test("work that waits for a connection longer than one takes to open is done when one is free", async () => {
  const { db, end } = await openBusy(TIMES);
  const waiting = [db.query("select 1 as n"), db.tx((tx) => tx.query("select 2 as n"))];
  await end();
  expect(await Promise.all(waiting)).toEqual([[{ n: 1 }], [{ n: 2 }]]);
});

test("work that finds no connection free for too long is told so, as what was never sent", async () => {
  const { db } = await openBusy({ ...TIMES, busyMsMax: 10 });
  await expect(db.query("select 1")).rejects.toThrow("No database connection was free within 0.01 s.");
});
