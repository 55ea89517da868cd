import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fault } from "../fault.ts";
import type { Log } from "../log.ts";
import { openDatabase, type Tx } from "./database.ts";
import { planSqlFiles } from "./sql-files.ts";

const DIRECTORY = join(import.meta.dirname, "../../../migrations");
const LOCK = 18_016; // one number for all promptd processes, below the queue's 18017 and 18018
const POSTGRES_VERSION_MIN = 150_000;

interface Migration {
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
}

/**
 * `upgrade`: applies what is missing. `create`: creates the schema in an empty database and refuses an older one, so
 * that an operator command never changes the database under a running server of the older version.
 */
export type MigrationScope = "upgrade" | "create";

/**
 * Applies the migrations and SQL files that the database lacks, all in one transaction under a lock: of processes that
 * start together one does it, and one that dies half-way leaves the previous schema.
 * @returns the names applied now, in order.
 */
export async function migrate(
  url: string,
  log: Log,
  {
    scope = "upgrade",
    signal,
  }: { readonly scope?: MigrationScope | undefined; readonly signal?: AbortSignal | undefined } = {},
): Promise<string[]> {
  const db = await openDatabase({ url, role: "migrate", poolMax: 1, log, signal });
  try {
    return await db.tx((tx) => applyPending(tx, log, scope), { statementTimeoutMs: 0 });
  } finally {
    await db.close();
  }
}

async function applyPending(tx: Tx, log: Log, scope: MigrationScope): Promise<string[]> {
  await tx.query("set local lock_timeout = 0");
  await tx.query("select pg_advisory_xact_lock($1)", [LOCK]);
  await checkServerVersion(tx);
  await tx.query(`
    create table if not exists schema_migrations (
      name text collate "C" primary key, sha256 text not null, applied_at timestamptz not null default clock_timestamp());
    create table if not exists schema_functions (
      name text collate "C" primary key, sha256 text not null, version text not null,
      applied_at timestamptz not null default clock_timestamp())`);
  const rows = await tx.query<{ name: string; sha256: string }>("select name, sha256 from schema_migrations");
  const applied = new Map(rows.map((row) => [row.name, row.sha256]));
  const migrations = readMigrations();
  refuseDifferences(applied, migrations);
  const pending = migrations.filter((migration) => !applied.has(migration.name));
  const functions = await planSqlFiles(tx, log);
  const changes = [...functions.beforeTables, ...pending, ...functions.afterTables];
  const [first] = changes;
  if (scope === "create" && applied.size > 0) {
    if (first === undefined) return [];
    throw schemaIsOlder(first.name);
  }
  for (const { text } of functions.beforeTables) await tx.query(text);
  for (const { name, text, sha256 } of pending) {
    await tx.query(text);
    await tx.query("insert into schema_migrations (name, sha256) values ($1, $2)", [name, sha256]);
    await fault("migrate.mid");
  }
  for (const { text } of functions.afterTables) await tx.query(text);
  await functions.record();
  return changes.map((change) => change.name);
}

function schemaIsOlder(missing: string): Error {
  return new Error(
    `The database is of an older promptd (it lacks ${missing}). Stop the servers of that version, then run npx promptd migrate or start this version's server.`,
  );
}

async function checkServerVersion(tx: Tx): Promise<void> {
  const [row] = await tx.query<{ version: string }>("select current_setting('server_version_num') as version");
  const version = Number(row?.version);
  if (version < POSTGRES_VERSION_MIN) {
    throw new Error(`promptd needs PostgreSQL 15 or newer; this is ${Math.floor(version / 10_000)}.`);
  }
}

/** A changed or unknown migration means another version of promptd wrote this database: going on could lose data. */
function refuseDifferences(applied: ReadonlyMap<string, string>, migrations: readonly Migration[]): void {
  const known = new Map(migrations.map((migration) => [migration.name, migration.sha256]));
  for (const [name, sha256] of applied) {
    if (!known.has(name)) {
      throw new Error(`The database was migrated by a newer promptd (it has ${name}). Start that version or newer.`);
    }
    if (known.get(name) !== sha256) {
      throw new Error(`Migration ${name} differs from the one applied to this database. Install the original version.`);
    }
  }
}

function readMigrations(): Migration[] {
  return readdirSync(DIRECTORY)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => {
      const text = readFileSync(join(DIRECTORY, file), "utf8");
      return { name: file.slice(0, -4), text, sha256: createHash("sha256").update(text).digest("hex") };
    });
}
