import { globSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { openConnection } from "./database.ts";
import { createLog } from "../log.ts";
import { VERSION } from "../version.ts";
import { migrate, thisRelease } from "./migrate.ts";
import { readSqlFiles } from "./sql-files.ts";

const log = createLog("silent");
const NAMES = readdirSync(join(import.meta.dirname, "../../../migrations"))
  .filter((file) => file.endsWith(".sql"))
  .map((file) => file.slice(0, -4))
  .sort();
const BEFORE_TABLES = "platform/database/sql/now.sql";
const FUNCTIONS = readSqlFiles().flatMap(({ name }) => (name === BEFORE_TABLES ? [] : [name]));
const EVERYTHING = [BEFORE_TABLES, ...NAMES, ...FUNCTIONS];
const HOLD = "credits/sql/hold.sql";

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

async function ask<Row>(...statements: string[]): Promise<Row[]> {
  const connection = openConnection(database.url, "asking-test");
  await connection.connect();
  try {
    let rows: Row[] = [];
    for (const statement of statements) rows = (await connection.query(statement)).rows as Row[];
    return rows;
  } finally {
    await connection.end();
  }
}

const makeEmpty = () => ask("drop schema public cascade", "create schema public");

test("an empty database gets every migration and every function in order, and the second time there is nothing to do", async () => {
  await makeEmpty();
  expect(await migrate(database.url, log)).toEqual(EVERYTHING);
  expect(await ask("select name from schema_migrations order by name")).toEqual(NAMES.map((name) => ({ name })));
  expect(await migrate(database.url, log)).toEqual([]);
});

test("processes that start together migrate once: one applies everything, and the others find it done", async () => {
  await makeEmpty();
  const applied = await Promise.all(Array.from({ length: 4 }, () => migrate(database.url, log)));
  expect(applied.flat()).toEqual(EVERYTHING);
});

test("a migration that differs from the applied one is refused by name, and nothing changes", async () => {
  const name = NAMES[2] ?? "";
  await ask(`update schema_migrations set sha256 = 'other' where name = '${name}'`);
  await ask(`delete from schema_migrations where name = '${NAMES.at(-1)}'`);
  await expect(migrate(database.url, log)).rejects.toThrow(
    `Migration ${name} differs from the one applied to this database. Install the original version.`,
  );
  expect(await ask("select name from schema_migrations")).toHaveLength(NAMES.length - 1);
});

test("an operator command creates the schema if there is none, and leaves an older schema unchanged", async () => {
  await makeEmpty();
  expect(await migrate(database.url, log, { scope: "create" })).toEqual(EVERYTHING);
  expect(await migrate(database.url, log, { scope: "create" })).toEqual([]);
  const last = NAMES.at(-1) ?? "";
  await ask(`delete from schema_migrations where name = '${last}'`);
  const older = `The database belongs to an older promptd (it lacks ${last}).`;
  await expect(migrate(database.url, log, { scope: "create" })).rejects.toThrow(
    `${older} Run npx promptd migrate or start this version's server. Servers of the older version can keep running meanwhile.`,
  );
  const { migrations, ...rest } = thisRelease();
  const strict = migrations.map((one) => (one.name === last ? { ...one, isCompatible: false } : one));
  const release = { ...rest, migrations: strict };
  await expect(migrate(database.url, log, { scope: "create", release })).rejects.toThrow(
    `${older} Stop the servers of the older version, then run npx promptd migrate or start this version's server.`,
  );
  expect(await ask("select name from schema_migrations")).toHaveLength(NAMES.length - 1);
});

test("a new schema is created completely or not at all", async () => {
  await makeEmpty();
  await ask("create table accounts (of_somebody_else int)"); // in the way of the second migration
  await expect(migrate(database.url, log)).rejects.toThrow('relation "accounts" already exists');
  const tables = await ask("select tablename from pg_tables where schemaname = 'public'");
  expect(tables).toEqual([{ tablename: "accounts" }]);
});

test("a server older than PostgreSQL 15 is refused before anything is created", async () => {
  await makeEmpty();
  const name = new RegExp(/\/(promptd_test_\w+)/).exec(database.url)?.[1] ?? "";
  // In this database the server reports version 14.9.
  await ask(
    "create schema old",
    "create function old.current_setting(text) returns text language sql as $$ select '140009' $$",
    `alter database ${name} set search_path = old, pg_catalog, public`,
  );
  await expect(migrate(database.url, log)).rejects.toThrow(
    "promptd needs PostgreSQL 15 or newer; this server is version 14.",
  );
  expect(await ask("select tablename from pg_tables where schemaname in ('public', 'old')")).toEqual([]);
});

test("a database with another encoding is refused before anything is created, and the message says how to create the right one", async () => {
  const name = `${database.name}_latin1`;
  await ask(`create database ${name} encoding 'LATIN1' locale_provider libc locale 'C' template template0`);
  const error: unknown = await migrate(database.url.replace(database.name, name), log).catch((cause: unknown) => cause);
  await ask(`drop database ${name}`);
  expect(error).toMatchObject({
    message:
      "promptd needs a database with the encoding UTF8; this one has LATIN1. Create another database: create database promptd encoding 'UTF8' template template0",
  });
});

test.each([
  [
    "a read-only database",
    () => ask(`alter database ${database.name} set default_transaction_read_only = on`),
    "25006",
    /^cannot execute CREATE TABLE in a read-only transaction\.\nThe server is a standby or read-only\. Change the address to point to the primary/,
  ],
  [
    "a user who may not create tables",
    () => ask("revoke create on schema public from current_user"),
    "42501",
    /^permission denied for schema public\.\nThis user must create the tables .* grant create on schema public to <user>$/,
  ],
])("%s is reported with what to do about it", async (_what, change, code, message) => {
  await makeEmpty();
  await change();
  await expect(migrate(database.url, log)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

describe("a function of the database", () => {
  const CALL = `select credit_hold_for('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001', 1, null, null, null, null) as held`;
  const OTHER_TEXT = `create or replace function credit_hold_for(p_account uuid, p_run uuid, p_amount bigint, p_budget uuid, p_month date,
    p_author uuid, p_share int)
    returns boolean language sql as $$ select true $$`;
  const recordOther = (version: string) =>
    `update schema_functions set sha256 = 'other', version = '${version}' where name = '${HOLD}'`;

  test("whose text has changed is applied at the next startup, and nothing else is", async () => {
    await ask(OTHER_TEXT, recordOther(VERSION));
    expect(await ask(CALL)).toEqual([{ held: true }]);
    expect(await migrate(database.url, log)).toEqual([HOLD]);
    expect(await ask(CALL)).toEqual([{ held: false }]);
    expect(await migrate(database.url, log)).toEqual([]);
  });

  test("is applied only once by processes that start together", async () => {
    await ask(OTHER_TEXT, recordOther(VERSION));
    const applied = await Promise.all(Array.from({ length: 4 }, () => migrate(database.url, log)));
    expect(applied.flat()).toEqual([HOLD]);
  });

  test("from an older version is replaced, and all texts are recorded under the new version", async () => {
    await ask("update schema_functions set version = '0.0.9'", recordOther("0.0.9"));
    expect(await migrate(database.url, log)).toEqual([HOLD]);
    expect(await ask("select distinct version from schema_functions")).toEqual([{ version: VERSION }]);
  });

  test.each(["0.10.0", "0.1.1", "1.0.0"])(
    "from version %s is not replaced by this version, which logs that",
    async (newer) => {
      const info = vi.fn();
      await ask(OTHER_TEXT, `update schema_functions set version = '${newer}' where name <> '${HOLD}'`);
      await ask(recordOther(VERSION));
      expect(await migrate(database.url, { ...log, info })).toEqual([]);
      expect(info.mock.calls).toEqual([
        [{ version: VERSION, newest: newer }, "the database has the functions of a newer promptd"],
      ]);
      expect(await ask(CALL)).toEqual([{ held: true }]);
    },
  );

  test("that a newer version recorded without a change is not replaced by an older text", async () => {
    await ask("update schema_functions set version = '0.0.9'");
    expect(await migrate(database.url, log)).toEqual([]);
    expect(await ask("select distinct version from schema_functions")).toEqual([{ version: VERSION }]);
  });

  test("that differs is not replaced by an operator command", async () => {
    await ask(OTHER_TEXT, recordOther("0.0.9"));
    await expect(migrate(database.url, log, { scope: "create" })).rejects.toThrow(
      `The database belongs to an older promptd (it lacks ${HOLD}).`,
    );
    expect(await ask(CALL)).toEqual([{ held: true }]);
  });

  test("that cannot be applied leaves the previous schema in place", async () => {
    await ask(
      "drop function credit_hold_for(uuid, uuid, bigint, uuid, date, uuid, int)",
      "create function credit_hold_for(uuid, uuid, bigint, uuid, date, uuid, int) returns text language sql as $$ select 'of somebody else' $$",
      "update schema_functions set sha256 = 'other'",
    );
    await expect(migrate(database.url, log)).rejects.toThrow("cannot change return type of existing function");
    expect(await ask(`select sha256 from schema_functions where name = '${HOLD}'`)).toEqual([{ sha256: "other" }]);
    expect(await ask(CALL.replace("as held", "as text"))).toEqual([{ text: "of somebody else" }]);
  });

  test("from another build of this version is replaced by the last one to start, which logs its name", async () => {
    const warn = vi.fn();
    await ask(OTHER_TEXT, recordOther(VERSION));
    expect(await migrate(database.url, { ...log, warn })).toEqual([HOLD]);
    expect(warn.mock.calls).toEqual([
      [{ version: VERSION, newest: VERSION, files: [HOLD] }, "SQL functions of another build of promptd were replaced"],
    ]);
  });

  test("is not replaced by a build of the same version that does not know a migration in the database", async () => {
    await ask(
      OTHER_TEXT,
      recordOther(VERSION),
      "insert into schema_migrations (name, sha256, compatible) values ('9999-tomorrow', 'x', true)",
    );
    expect(await migrate(database.url, log)).toEqual([]);
    expect(await ask(CALL)).toEqual([{ held: true }]);
  });

  test("from a pre-release is older than the release, and from a later pre-release newer", async () => {
    const release = (version: string) => ({ release: { ...thisRelease(), version } });
    await ask(OTHER_TEXT, `update schema_functions set version = '2.0.0-rc.10'`, recordOther("2.0.0-rc.10"));
    expect(await migrate(database.url, log, release("2.0.0-rc.9"))).toEqual([]);
    expect(await migrate(database.url, log, release("2.0.0"))).toEqual([HOLD]);
    await ask(OTHER_TEXT, recordOther("2.0.0"));
    expect(await migrate(database.url, log, release("2.0.0-rc.11"))).toEqual([]);
    expect(await ask(CALL)).toEqual([{ held: true }]);
  });

  test("from a newer version is replaced when an operator asks for it after a rollback, and the newer version restores it", async () => {
    await ask(OTHER_TEXT, "update schema_functions set version = '99.0.0'", recordOther("99.0.0"));
    expect(await migrate(database.url, log, { scope: "rollback" })).toEqual([HOLD]);
    expect(await ask(CALL)).toEqual([{ held: false }]);
    expect(await migrate(database.url, log)).toEqual([]);
    const { sqlFiles, ...rest } = thisRelease();
    const newer = sqlFiles.map((file) => (file.name === HOLD ? { ...file, text: OTHER_TEXT, sha256: "other" } : file));
    const release = { ...rest, sqlFiles: newer, version: "99.0.0" };
    expect(await migrate(database.url, log, { release })).toEqual([HOLD]);
    expect(await ask(CALL)).toEqual([{ held: true }]);
  });

  test("is found wherever it is in the sources", () => {
    const cwd = join(import.meta.dirname, "../..");
    expect(new Set(globSync("**/*.sql", { cwd }))).toEqual(new Set([BEFORE_TABLES, ...FUNCTIONS]));
  });
});
