/** Two releases on one database: which of them starts, what it changes, and what others wait for. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { openConnection, type Database } from "../../src/platform/database/database.ts";
import { migrate, thisRelease, type Release } from "../../src/platform/database/migrate.ts";
import { parseMigration } from "../../src/platform/database/migrations.ts";
import { createLog } from "../../src/platform/log.ts";
import { textPrompt } from "../prompts/prompt-files.ts";
import { until } from "../support/promptd-process.ts";
import { openTestDatabase, type OpenTestDatabase } from "../support/test-database.ts";
import { startTestServer } from "../support/test-server.ts";
import { bodyOf } from "../wire/requests.ts";

const log = createLog("silent");
const ADDS = "-- promptd: compatible\nalter table accounts add column locale text;\n";
const DROPS = "-- promptd: incompatible\nalter table accounts drop column display_name;\n";
const INDEX = "-- promptd: compatible, concurrent\ncreate index concurrently accounts_made on accounts (created_at);\n";

let database: OpenTestDatabase;
let db: Database;
beforeEach(async () => {
  database = await openTestDatabase();
  ({ db } = database);
});
afterEach(() => database.close());

/** This program with additional migrations. */
function newer(...texts: string[]): Release {
  const release = thisRelease();
  const added = texts.map((text, i) => parseMigration(`999${i}-newer`, text));
  return { ...release, version: "99.0.0", migrations: [...release.migrations, ...added] };
}

async function connect() {
  const connection = openConnection(database.url, "other");
  await connection.connect();
  onTestFinished(() => connection.end().catch(() => {}));
  return connection;
}

/** Another session's open transaction that writes to accounts. */
async function useAccounts() {
  const connection = await connect();
  await connection.query("set idle_in_transaction_session_timeout = 0");
  await connection.query("begin; lock table accounts in row exclusive mode");
  return { end: () => connection.query("commit") };
}

const hasColumn = async (column: string) =>
  (
    await db.query("select from information_schema.columns where table_name = 'accounts' and column_name = $1", [
      column,
    ])
  ).length === 1;
const indexes = () =>
  db.query<{ valid: boolean }>(
    "select indisvalid as valid from pg_index where indexrelid = to_regclass('accounts_made')",
  );

describe("a release that is rolled back", () => {
  test("starts on the schema of a newer release whose migrations are compatible, changes nothing, and logs that", async () => {
    expect(await migrate(database.url, log, { release: newer(ADDS, INDEX) })).toEqual(["9990-newer", "9991-newer"]);
    const info = vi.fn();
    expect(await migrate(database.url, { ...log, info })).toEqual([]);
    expect(info.mock.calls).toContainEqual([
      { migrations: ["9990-newer", "9991-newer"] },
      "the database has compatible migrations of a newer promptd",
    ]);
    expect(await migrate(database.url, log, { scope: "create" })).toEqual([]);
    expect(await migrate(database.url, log, { release: newer(ADDS, INDEX) })).toEqual([]);
  });

  test("is refused with the name of the first migration that it cannot work with, and with what to do", async () => {
    const warn = vi.fn();
    await migrate(database.url, { ...log, warn }, { release: newer(ADDS, DROPS, INDEX) });
    expect(warn.mock.calls).toEqual([
      [{ migration: "9991-newer" }, "servers of older versions stop working after this migration"],
    ]);
    await expect(migrate(database.url, log)).rejects.toThrow(
      "The database was migrated by a newer promptd, and older versions cannot work with its migration 9991-newer. Start that version or a newer one, or restore a backup made before the migration.",
    );
  });

  test("is refused if a migration has no mark, as those applied by programs before the marks", async () => {
    await db.query("insert into schema_migrations (name, sha256) values ('9990-newer', 'x')");
    await expect(migrate(database.url, log)).rejects.toThrow(
      "older versions cannot work with its migration 9990-newer",
    );
  });

  test("may have its own migration, as a fix for an older release does", async () => {
    await migrate(database.url, log, { release: newer(ADDS) });
    const fix = parseMigration("9989-fix", "-- promptd: compatible\nalter table accounts add column fixed text;\n");
    const release = { ...thisRelease(), migrations: [...thisRelease().migrations, fix] };
    expect(await migrate(database.url, log, { release })).toEqual(["9989-fix"]);
    expect([await hasColumn("fixed"), await hasColumn("locale")]).toEqual([true, true]);
  });
});

test("an older program keeps running, and can restart, while a newer one changes the schema", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const caller = await server.createCaller({ credits: 100 });
  const { promptVersionId } = await server.publish(textPrompt());
  const body = bodyOf(promptVersionId, { topic: "tea" });
  const statusAt = async (url: string) => (await server.clientOf(caller.apiKey, url).runs.create(body)).runStatus;
  const release = newer(ADDS, INDEX, "-- promptd: compatible\nalter table runs add column region text default 'eu';\n");
  const [during] = await Promise.all([statusAt(server.url), migrate(server.databaseUrl, log, { release })]);
  const after = await statusAt(server.url);
  const restarted = await server.startAnother("all");
  expect([during, after, await statusAt(restarted.listenUrl ?? "")]).toEqual(["succeeded", "succeeded", "succeeded"]);
  expect(await caller.client.me.credits()).toMatchObject({ credits: 97 });
  expect((await server.checkLedger()).mismatches).toEqual([]);
});

describe("a database from before the marks", () => {
  test("is brought up to date, and its migrations count as applied", async () => {
    await db.query("alter table schema_migrations drop column compatible");
    expect(await migrate(database.url, log, { release: newer(ADDS) })).toEqual(["9990-newer"]);
    expect(await db.query("select name, compatible from schema_migrations order by name desc limit 2")).toEqual([
      { name: "9990-newer", compatible: true },
      { name: expect.stringContaining("0"), compatible: false },
    ]);
  });
});

describe("a migration of a table that is in use", () => {
  test("lets requests pass within about a second, is retried, and then succeeds, with one line in the log", async () => {
    const other = await useAccounts();
    const warn = vi.fn();
    const migrating = migrate(database.url, { ...log, warn }, { release: newer(ADDS) });
    await until(async () => warn.mock.calls.length > 0);
    // If the lock wait had no limit, this would fail at the statement timeout of 5 s.
    expect(await db.query("select count(*)::int as n from accounts")).toEqual([{ n: 0 }]);
    await other.end();
    expect(await migrating).toEqual(["9990-newer"]);
    expect(warn.mock.calls).toEqual([[{ change: "9990-newer" }, "a schema change is waiting for a lock; retrying"]]);
  });

  test("fails by name after a while, and what was applied before it stays", async () => {
    const other = await useAccounts();
    const table = "-- promptd: compatible\ncreate table made_before (id int);\n";
    await expect(migrate(database.url, log, { release: newer(table, ADDS), lockedMsMax: 0 })).rejects.toThrow(
      "9991-newer needs to lock a table that another transaction is using, such as a backup or a long query.",
    );
    await other.end();
    expect(await migrate(database.url, log, { release: newer(table, ADDS) })).toEqual(["9991-newer"]);
  });
});

describe("an index that is built while its table is in use", () => {
  test("takes no lock that writers wait for, and makes other processes wait to start until it is done", async () => {
    const other = await useAccounts(); // the build waits for it
    const building = migrate(database.url, log, { release: newer(INDEX) });
    await until(async () => (await indexes()).length === 1);
    const second = migrate(database.url, log, { release: newer(INDEX) });
    await db.query("insert into accounts (id, email) values (gen_random_uuid(), 'ada@example.org')");
    await other.end();
    expect([await building, await second]).toEqual([["9990-newer"], []]);
    expect(await indexes()).toEqual([{ valid: true }]);
  });

  test("whose program died is ended in the server, dropped, and rebuilt", async () => {
    const other = await useAccounts();
    const builder = await connect(); // what a killed program leaves behind: nobody reads its connection
    await builder.query("set statement_timeout = 0");
    const left = builder.query("create index concurrently accounts_made on accounts (created_at)").catch(() => "ended");
    await until(async () => (await indexes()).length === 1);
    const building = migrate(database.url, log, { release: newer(INDEX) });
    expect(await left).toBe("ended");
    await other.end();
    expect(await building).toEqual(["9990-newer"]);
    expect(await indexes()).toEqual([{ valid: true }]);
  });

  test("that was left invalid is dropped and rebuilt", async () => {
    const other = await useAccounts();
    const builder = await connect();
    await builder.query("set statement_timeout = 300");
    const building = builder.query("create index concurrently accounts_made on accounts (created_at)");
    await expect(building).rejects.toThrow("statement timeout");
    await other.end();
    expect(await indexes()).toEqual([{ valid: false }]);
    expect(await migrate(database.url, log, { release: newer(INDEX) })).toEqual(["9990-newer"]);
    expect(await indexes()).toEqual([{ valid: true }]);
  });

  test("that was built but not recorded is not rebuilt", async () => {
    await db.query("create index accounts_made on accounts (created_at)");
    const before = await db.query("select 'accounts_made'::regclass::oid as oid");
    expect(await migrate(database.url, log, { release: newer(INDEX) })).toEqual(["9990-newer"]);
    expect(await db.query("select 'accounts_made'::regclass::oid as oid")).toEqual(before);
  });

  test("is part of the one transaction that creates a new schema", async () => {
    await db.query("drop schema public cascade; create schema public");
    expect(await migrate(database.url, log, { release: newer(INDEX) })).toContain("9990-newer");
    expect(await indexes()).toEqual([{ valid: true }]);
  });
});

describe("a trigger", () => {
  const FUNCTIONS = ["credits/sql/journal.sql", "prompts/sql/published-version.sql"];
  const APPEND_ONLY = "credits/sql/trigger-append-only.sql";
  const forget = (...files: string[]) =>
    db.query("update schema_functions set sha256 = 'other' where name = any ($1)", [files]);
  async function lock(table: string) {
    const connection = await connect();
    await connection.query("set idle_in_transaction_session_timeout = 0");
    await connection.query(`begin; lock table ${table} in row exclusive mode`);
    return { end: () => connection.query("commit") };
  }
  const changeTrigger = () =>
    db.query(`create or replace trigger append_only before update on credit_transfers
      for each statement execute function journal_is_append_only()`);
  const triggers = () =>
    db.query(`select tgname as name, pg_get_triggerdef(oid) as text from pg_trigger
      where tgname in ('append_only', 'published_version_is_final') order by tgname`);

  test("stays as it is, and its table unlocked, when the function that it calls changes", async () => {
    const before = await triggers();
    await forget(...FUNCTIONS);
    const others = [await lock("credit_transfers"), await lock("prompt_versions")];
    expect(await migrate(database.url, log, { lockedMsMax: 0 })).toEqual(FUNCTIONS);
    for (const other of others) await other.end();
    expect(await triggers()).toEqual(before);
    expect(before).toHaveLength(2);
  });

  test("that is recreated waits at most a second for the table lock, is retried, and then created", async () => {
    const before = await triggers();
    await changeTrigger();
    await forget(APPEND_ONLY);
    const other = await lock("credit_transfers");
    const warn = vi.fn();
    const migrating = migrate(database.url, { ...log, warn });
    await until(async () => warn.mock.calls.length > 0);
    await db.tx((tx) => tx.query("lock table credit_transfers in row exclusive mode")); // as any write does
    await other.end();
    expect(await migrating).toEqual([APPEND_ONLY]);
    expect(warn.mock.calls[0]).toEqual([{ change: APPEND_ONLY }, "a schema change is waiting for a lock; retrying"]);
    expect(await triggers()).toEqual(before);
  });

  test.each([
    "drop trigger append_only on credit_transfers",
    "alter table credit_transfers disable trigger append_only",
  ])("is recreated after somebody's %s", async (statement) => {
    await db.query(statement);
    await forget(APPEND_ONLY);
    await migrate(database.url, log);
    await expect(db.query("delete from credit_transfers")).rejects.toThrow("credit_transfers is append-only");
  });
});
