import { expect, onTestFinished, test } from "vitest";
import { startTcpProxy } from "../../../test/support/tcp-proxy.ts";
import { createTestDatabase, IN_THIS_DATABASE } from "../../../test/support/test-database.ts";
import { openDatabase, type Database, type Tx } from "./database.ts";
import { codeOf } from "../reason-of.ts";
import { isConnectionLoss } from "./errors.ts";
import { createLog } from "../log.ts";

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
    await tx.query("select pg_sleep(1.2)"); // longer than the connection timeout
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

test("work that waits longer than the connection timeout is done when a connection is free", async () => {
  const { db, end } = await openBusy(TIMES);
  const waiting = [db.query("select 1 as n"), db.tx((tx) => tx.query("select 2 as n"))];
  await end();
  expect(await Promise.all(waiting)).toEqual([[{ n: 1 }], [{ n: 2 }]]);
});

test("work that finds no free connection for too long fails as never sent", async () => {
  const { db } = await openBusy({ ...TIMES, busyMsMax: 10 });
  await expect(db.query("select 1")).rejects.toThrow("No database connection was free within 0.01 s.");
});

test("statements on terminated pipelined connections are answered on new ones, and no connection is left behind", async () => {
  const database = await createTestDatabase();
  const db = await openDatabase({ url: database.url, role: "lanes", log: createLog("silent") });
  onTestFinished(async () => {
    await db.close();
    await database.drop();
  });
  for (let loss = 0; loss < 5; loss += 1) {
    const waiting = await db.tx(async (tx) => {
      await tx.query("select pg_advisory_xact_lock(1)"); // the statements wait for it while their connections end
      const asked = Array.from({ length: 6 }, () =>
        db.pipelined({ name: "wait", text: "select pg_advisory_xact_lock_shared(1)" }, []),
      );
      const settled = Promise.allSettled(asked);
      await untilWaiting(tx, 2);
      await tx.query(`select pg_terminate_backend(pid) from ${WAITS_FOR_ADVISORY_LOCK}`);
      return { settled };
    });
    for (const outcome of await waiting.settled) expect(outcome).toMatchObject({ status: "fulfilled" });
  }
  expect(await db.query(OPEN_CONNECTIONS)).toEqual([{ open: 3 }]);
});

test("prepared statements that arrive one after the other share a connection, and concurrent ones do not", async () => {
  const database = await createTestDatabase();
  const db = await openDatabase({ url: database.url, role: "lanes", log: createLog("silent") });
  onTestFinished(async () => {
    await db.close();
    await database.drop();
  });
  const ask = async () =>
    (await db.pipelined<{ pid: number }>({ name: "pid", text: "select pg_backend_pid() as pid" }, []))[0]?.pid;
  const first = await ask();
  expect(await ask()).toBe(first);
  const [one, other] = await Promise.all([ask(), ask()]);
  expect(one).toBe(first);
  expect(other).not.toBe(first);
  expect(await ask()).toBe(first);
});

test("a connection that cannot be opened in time counts as lost", async () => {
  const database = await createTestDatabase();
  const proxy = await startTcpProxy(database.url);
  const db = await openDatabase({ url: proxy.url, role: "late", log: createLog("silent") });
  onTestFinished(async () => {
    await db.close();
    await proxy.close();
    await database.drop();
  });
  proxy.blackhole(true);
  const error: unknown = await db.pipelined({ name: "one", text: "select 1" }, []).catch((cause: unknown) => cause);
  expect(isConnectionLoss(error), String(error)).toBe(true);
});

test("all who wait for a connection fail together when the server is silent, not each after its own timeout", async () => {
  const database = await createTestDatabase();
  const proxy = await startTcpProxy(database.url);
  const db = await openDatabase({ url: proxy.url, role: "silent", log: createLog("silent"), poolMax: 1, times: TIMES });
  onTestFinished(async () => {
    await db.close();
    await proxy.close();
    await database.drop();
  });
  proxy.blackhole(true);
  const [first, ...behind] = await Promise.allSettled(Array.from({ length: 5 }, () => db.query("select 1")));
  expect(first).toMatchObject({ reason: { message: "Query read timeout" } });
  for (const one of behind) expect(one).toMatchObject({ reason: { name: "DatabaseUnresponsive" } });
});

test("a server that has become a standby keeps no connection, and the next statement reaches the new primary", async () => {
  const database = await createTestDatabase();
  const db = await openDatabase({ url: database.url, role: "standby", log: createLog("silent"), poolMax: 1 });
  onTestFinished(async () => {
    await db.close();
    await database.drop();
  });
  const demote = "set default_transaction_read_only = on"; // for this connection, as on a demoted server
  const write = "create table if not exists written (n int)";
  await Promise.all([
    db.query(demote),
    db.pipelined({ name: "demote", text: demote }, []),
    db.pipelined({ name: "demote", text: demote }, []),
  ]);
  await expect(db.tx((tx) => tx.query(write))).rejects.toMatchObject({ code: "25006" });
  await db.tx((tx) => tx.query(write));
  for (let i = 0; i < 2; i += 1)
    await Promise.all([
      db.pipelined({ name: "write", text: write }, []),
      db.pipelined({ name: "write", text: write }, []),
    ]);
  expect(await db.query(OPEN_CONNECTIONS)).toEqual([{ open: 3 }]);
});

const OPEN_CONNECTIONS = "select count(*)::int as open from pg_stat_activity where datname = current_database()";

const WAITS_FOR_ADVISORY_LOCK = `pg_locks where locktype = 'advisory' and not granted and ${IN_THIS_DATABASE}`;

/** Resolves when this many connections wait for the lock. */
async function untilWaiting(tx: Tx, count: number): Promise<void> {
  for (;;) {
    const rows = await tx.query(`select 1 from ${WAITS_FOR_ADVISORY_LOCK}`);
    if (rows.length === count) return;
  }
}

test("connections do not depend on the defaults that the database has for other programs", async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const open = () => openDatabase({ url: database.url, role: "defaults", log: createLog("silent"), poolMax: 3 });
  const admin = await open();
  await admin.query(`alter database ${database.name} set default_transaction_isolation = 'serializable'`);
  await admin.query(`alter database ${database.name} set datestyle = 'SQL, DMY'`);
  await admin.close();
  const db = await open();
  const ask = "select current_setting('transaction_isolation') as isolation, timestamptz '2026-11-28 09:00Z' as at";
  const all = [
    ...Array.from({ length: 3 }, () => db.query(ask)), // each on a connection of its own
    ...Array.from({ length: 2 }, () => db.pipelined({ name: "defaults", text: ask }, [])),
    db.once(ask),
    db.queryWithin(1_000, ask, []),
    db.tx((tx) => tx.query(ask)),
  ];
  const usual = [{ isolation: "read committed", at: new Date("2026-11-28T09:00:00Z") }];
  expect(await Promise.all(all)).toEqual(all.map(() => usual));
  await db.close();
});

test("a statement with its own timeout is canceled by the server, and its connection stays as it was", async () => {
  const database = await createTestDatabase();
  const db = await openDatabase({ url: database.url, role: "within", log: createLog("silent"), poolMax: 1 });
  onTestFinished(async () => {
    await db.close();
    await database.drop();
  });
  const limits = () => db.query("select current_setting('statement_timeout') as limit, pg_backend_pid() as pid");
  const before = await limits();
  expect(await db.queryWithin(1_000, "select $1::int as n", [1])).toEqual([{ n: 1 }]);
  const error = await db.queryWithin(20, "select pg_sleep(4)", []).catch((cause: unknown) => cause);
  expect(codeOf(error)).toBe("57014");
  expect(await limits()).toEqual(before);
});

test("a statement that runs alone has no transaction and no time limit, and closing abandons it", async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const db = await openDatabase({ url: database.url, role: "alone", log: createLog("silent") });
  await db.query("create table alone (n int, limits text)");
  await db.runAlone("create index concurrently on alone (n)");
  await db.runAlone(
    "insert into alone (limits) values (current_setting('statement_timeout') || current_setting('lock_timeout'))",
  );
  expect(await db.query("select limits from alone")).toEqual([{ limits: "00" }]);
  const outcome = db.runAlone("select pg_sleep(60)").catch((error: unknown) => String(error));
  const sleeping = "select from pg_stat_activity where query = 'select pg_sleep(60)' and datname = current_database()";
  while ((await db.query(sleeping)).length === 0);
  await db.close();
  expect(await outcome).toContain("Connection terminated");
});
