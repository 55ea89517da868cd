import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { openConnection } from "./database.ts";
import { createLog } from "../log.ts";
import { migrate } from "./migrate.ts";

const log = createLog("silent");
const NAMES = readdirSync(join(import.meta.dirname, "../../../migrations"))
  .filter((file) => file.endsWith(".sql"))
  .map((file) => file.slice(0, -4))
  .sort();

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

test("an empty database gets every migration in order; a second time there is nothing to do", async () => {
  await makeEmpty();
  expect(await migrate(database.url, log)).toEqual(NAMES);
  expect(await ask("select name from schema_migrations order by name")).toEqual(NAMES.map((name) => ({ name })));
  expect(await migrate(database.url, log)).toEqual([]);
});

test("processes that start together migrate once: one applies everything, the others find it done", async () => {
  await makeEmpty();
  const applied = await Promise.all(Array.from({ length: 4 }, () => migrate(database.url, log)));
  expect(applied.flat()).toEqual(NAMES);
});

test("a migration that differs from the applied one is refused by name, and nothing is changed", async () => {
  const name = NAMES[2] ?? "";
  await ask(`update schema_migrations set sha256 = 'other' where name = '${name}'`);
  await ask(`delete from schema_migrations where name = '${NAMES.at(-1)}'`);
  await expect(migrate(database.url, log)).rejects.toThrow(
    `Migration ${name} differs from the one applied to this database. Install the original version.`,
  );
  expect(await ask("select name from schema_migrations")).toHaveLength(NAMES.length - 1);
});

test("a command given in passing makes the schema where there is none, and leaves an older one as it is", async () => {
  await makeEmpty();
  expect(await migrate(database.url, log, "create")).toEqual(NAMES);
  expect(await migrate(database.url, log, "create")).toEqual([]);
  const last = NAMES.at(-1) ?? "";
  await ask(`delete from schema_migrations where name = '${last}'`);
  await expect(migrate(database.url, log, "create")).rejects.toThrow(
    `The database is of an older promptd (it lacks ${last}). Stop the servers of that version, then run npx promptd migrate`,
  );
  expect(await ask("select name from schema_migrations")).toHaveLength(NAMES.length - 1);
});

test("a database of a newer promptd is refused", async () => {
  await ask("insert into schema_migrations (name, sha256) values ('9999-tomorrow', 'x')");
  await expect(migrate(database.url, log)).rejects.toThrow(
    "The database was migrated by a newer promptd (it has 9999-tomorrow). Start that version or newer.",
  );
});

test("a migration that fails leaves the schema as it was before all of them", async () => {
  await makeEmpty();
  await ask("create table accounts (of_somebody_else int)"); // in the way of the second migration
  await expect(migrate(database.url, log)).rejects.toThrow('relation "accounts" already exists');
  const tables = await ask("select tablename from pg_tables where schemaname = 'public'");
  expect(tables).toEqual([{ tablename: "accounts" }]);
});

test("a server older than PostgreSQL 15 is refused before anything is made", async () => {
  await makeEmpty();
  const name = new RegExp(/\/(promptd_test_\w+)/).exec(database.url)?.[1] ?? "";
  // In this database the server says it is version 14.9.
  await ask(
    "create schema old",
    "create function old.current_setting(text) returns text language sql as $$ select '140009' $$",
    `alter database ${name} set search_path = old, pg_catalog, public`,
  );
  await expect(migrate(database.url, log)).rejects.toThrow("promptd needs PostgreSQL 15 or newer; this is 14.");
  expect(await ask("select tablename from pg_tables where schemaname in ('public', 'old')")).toEqual([]);
});
