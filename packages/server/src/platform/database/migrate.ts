/**
 * Brings the schema up to date while older programs keep working with it. Each migration is one transaction. It waits
 * at most a second for a lock, because everything else that wants the table waits behind it, and is then retried.
 */
import { faultPoint } from "../fault-injection.ts";
import type { Log } from "../log.ts";
import { codeOf, reasonOf } from "../reason-of.ts";
import { retry } from "../resilience/retry.ts";
import { VERSION } from "../version.ts";
import { openDatabase, type Database, type Tx } from "./database.ts";
import { adviceOf, isLockTimeout, isStandby } from "./errors.ts";
import { readMigrations, type Migration } from "./migrations.ts";
import { planSqlFiles, readSqlFiles, type SqlFile } from "./sql-files.ts";

const LOCK = 18_016; // one number for all promptd processes, below the queue's 18017 and 18018
const POSTGRES_VERSION_MIN = 150_000;

/** What a program applies to a database. */
export interface Release {
  readonly version: string;
  readonly migrations: readonly Migration[];
  readonly sqlFiles: readonly SqlFile[];
}

/**
 * `upgrade`: applies what is missing. `create`: creates the schema in an empty database and refuses an older one, so
 * that an operator command never changes the database of a running older server. `rollback`: also replaces the SQL
 * functions of a newer program.
 */
export type MigrationScope = "upgrade" | "create" | "rollback";

export interface MigrateOptions {
  readonly scope?: MigrationScope | undefined;
  readonly signal?: AbortSignal | undefined;
  /** In tests: what another program would apply. */
  readonly release?: Release;
  /** In tests: how long to retry while a table is locked. */
  readonly lockedMsMax?: number;
}

/**
 * Applies the migrations and SQL files that the database lacks. A new schema is created in one transaction. An older
 * one is brought up to date step by step, and a process that dies halfway leaves the completed steps. If several
 * processes start together, only one of them does each step.
 * @returns the names applied now, in order.
 */
export async function migrate(url: string, log: Log, options: MigrateOptions = {}): Promise<string[]> {
  const db = await openDatabase({ url, role: "migrate", poolMax: 1, log, signal: options.signal });
  try {
    return await applyMissing(db, log, options);
  } finally {
    await db.close();
  }
}

/** Does the same as `migrate` on an open database. */
export async function applyMissing(db: Database, log: Log, options: MigrateOptions = {}): Promise<string[]> {
  const { release = thisRelease() } = options;
  const applied: string[] = [];
  let step: Step;
  do {
    step = await applyStep(db, log, { ...options, release });
    applied.push(...step.applied);
  } while (!step.isLast);
  return applied;
}

export function thisRelease(): Release {
  return { version: VERSION, migrations: readMigrations(), sqlFiles: readSqlFiles() };
}

/** Short, because the requests of running servers wait behind a waiting migration. */
const LOCK_TIMEOUT_MS = 1_000;
const LOCKED_MS_MAX = 60_000;
const LOCKED_BACKOFF = { baseMs: 500, capMs: 5_000 };
const BUSY_BACKOFF = { baseMs: 20, capMs: 500 };

type StepOptions = MigrateOptions & { readonly release: Release };

/**
 * Waits until no other process migrates, and retries while a table is locked. It polls for the other process: a waiting
 * statement would have a snapshot, and building an index concurrently waits for every snapshot.
 */
function applyStep(db: Database, log: Log, options: StepOptions): Promise<Step> {
  const { signal, lockedMsMax = LOCKED_MS_MAX } = options;
  const limits = { statementTimeoutMs: 0, lockTimeoutMs: LOCK_TIMEOUT_MS };
  const applyOnce = () =>
    retry(() => db.tx((tx) => applyNext(tx, db, { ...options, log }), limits).catch(throwWithAdvice), {
      on: (error) => error instanceof AnotherMigrates,
      backoff: BUSY_BACKOFF,
      signal,
    });
  return retry(applyOnce, {
    on: (error) => error instanceof TableLocked,
    backoff: LOCKED_BACKOFF,
    timeoutMs: lockedMsMax,
    signal,
    onRetry: (error, failed) => {
      if (failed === 1 && error instanceof TableLocked) {
        log.warn({ change: error.change }, "a schema change is waiting for a lock; retrying");
      }
    },
  });
}

const STANDBY = "The server is a standby or read-only. Change the address to point to the primary.";

/** Rethrows an error with advice and its code, which decides whether to wait. */
function throwWithAdvice(error: unknown): never {
  const advice = isStandby(error) ? STANDBY : adviceOf(error);
  if (advice === null) throw error;
  throw Object.assign(new Error(`${reasonOf(error)}.\n${advice}`, { cause: error }), { code: codeOf(error) });
}

class AnotherMigrates extends Error {
  override readonly name = "AnotherMigrates";
}

class TableLocked extends Error {
  override readonly name = "TableLocked";
  readonly change: string;

  constructor(change: string, cause: unknown) {
    super(
      `${change} needs to lock a table that another transaction is using, such as a backup or a long query. End that transaction (pg_stat_activity shows it), then start again. The changes applied so far stay.`,
      { cause },
    );
    this.change = change;
  }
}

interface Step {
  readonly applied: readonly string[];
  /** True: the schema is up to date after this step. */
  readonly isLast: boolean;
}

async function applyNext(tx: Tx, db: Database, options: StepOptions & { readonly log: Log }): Promise<Step> {
  await lockMigrations(tx);
  await checkServer(tx);
  await createOwnTables(tx);
  const missing = await findMissing(tx, options);
  if (missing.isSchemaNew) return applyRest(tx, missing, options.log);
  if (options.scope === "create") return refuseOlder(missing);
  return (await applyToTables(tx, db, missing, options.log)) ?? applyRest(tx, missing, options.log);
}

/** What this program has and the database lacks. */
interface Missing {
  /** True: no migration was applied before, so nobody uses the schema yet. */
  readonly isSchemaNew: boolean;
  readonly migrations: readonly Migration[];
  readonly functions: Awaited<ReturnType<typeof planSqlFiles>>;
  /** Names of compatible migrations that only a newer program knows. */
  readonly unknown: readonly string[];
}

async function findMissing(tx: Tx, { release, scope, log }: StepOptions & { readonly log: Log }): Promise<Missing> {
  const applied = await readApplied(tx);
  const unknown = refuseDifferences(applied, release.migrations);
  const standing = { isBehind: unknown.length > 0, isRollback: scope === "rollback" };
  return {
    isSchemaNew: applied.size === 0,
    migrations: release.migrations.filter((migration) => !applied.has(migration.name)),
    functions: await planSqlFiles(tx, { ...release, ...standing }, log),
    unknown,
  };
}

/** Lists the changes in the order in which they are applied. */
function changesOf({ functions, migrations }: Missing): string[] {
  return namesOf([...functions.beforeTables, ...migrations, ...functions.afterTables]);
}

function refuseOlder(missing: Missing): Step {
  const [first] = changesOf(missing);
  if (first !== undefined) throw schemaIsOlder(first, missing);
  return { applied: [], isLast: true };
}

/** Applies the next change to tables that may be in use, each in its own transaction. Null: none is missing. */
async function applyToTables(tx: Tx, db: Database, missing: Missing, log: Log): Promise<Step | null> {
  const { functions, migrations } = missing;
  if (functions.beforeTables.length > 0) {
    await functions.apply(functions.beforeTables);
    return { applied: namesOf(functions.beforeTables), isLast: false };
  }
  const [next] = migrations;
  if (next === undefined) return null;
  if (!next.isCompatible)
    log.warn({ migration: next.name }, "servers of older versions stop working after this migration");
  await orTableLocked(next.name, () => (next.concurrentIndex === null ? run(tx, next) : buildIndex(tx, db, next)));
  return { applied: [next.name], isLast: false };
}

/** Applies a whole new schema, or the functions that an older one still lacks. */
async function applyRest(tx: Tx, missing: Missing, log: Log): Promise<Step> {
  const { functions, migrations, unknown, isSchemaNew } = missing;
  if (isSchemaNew) {
    await functions.apply(functions.beforeTables);
    for (const migration of migrations) await run(tx, migration);
  }
  for (const file of functions.afterTables) await orTableLocked(file.name, () => functions.apply([file]));
  await functions.recordVersion();
  if (unknown.length > 0)
    log.info({ migrations: unknown }, "the database has compatible migrations of a newer promptd");
  return { applied: changesOf(missing), isLast: true };
}

function namesOf(changes: readonly { readonly name: string }[]): string[] {
  return changes.map((change) => change.name);
}

async function orTableLocked(change: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw isLockTimeout(error) ? new TableLocked(change, error) : error;
  }
}

async function lockMigrations(tx: Tx): Promise<void> {
  const [row] = await tx.query<{ locked: boolean }>("select pg_try_advisory_xact_lock($1) as locked", [LOCK]);
  if (row?.locked !== true) throw new AnotherMigrates("Another process is migrating the database.");
}

async function checkServer(tx: Tx): Promise<void> {
  const [row] = await tx.query<{ version: string; encoding: string }>(
    "select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding",
  );
  const version = Number(row?.version);
  if (version < POSTGRES_VERSION_MIN) {
    throw new Error(`promptd needs PostgreSQL 15 or newer; this server is version ${Math.floor(version / 10_000)}.`);
  }
  if (row?.encoding !== "UTF8") {
    throw new Error(
      `promptd needs a database with the encoding UTF8; this one has ${row?.encoding}. Create another database: create database promptd encoding 'UTF8' template template0`,
    );
  }
}

async function createOwnTables(tx: Tx): Promise<void> {
  await tx.query(`
    create table if not exists schema_migrations (
      name text collate "C" primary key, sha256 text not null, applied_at timestamptz not null default clock_timestamp());
    create table if not exists schema_functions (
      name text collate "C" primary key, sha256 text not null, version text not null,
      applied_at timestamptz not null default clock_timestamp())`);
  const marked = await tx.query(
    "select from pg_attribute where attrelid = to_regclass('schema_migrations') and attname = 'compatible'",
  );
  // "if not exists" would lock the table at every startup, and a backup holds that lock until it ends.
  if (marked.length === 0) {
    await tx.query("alter table schema_migrations add column compatible boolean not null default false");
  }
}

interface Applied {
  readonly name: string;
  readonly sha256: string;
  readonly compatible: boolean;
}

async function readApplied(tx: Tx): Promise<ReadonlyMap<string, Applied>> {
  const rows = await tx.query<Applied>("select name, sha256, compatible from schema_migrations order by name");
  return new Map(rows.map((row) => [row.name, row]));
}

/**
 * A changed migration means a broken installation: continuing could lose data. An unknown migration belongs to a newer
 * promptd and says whether older programs may continue.
 * @returns the names of the unknown migrations.
 */
function refuseDifferences(applied: ReadonlyMap<string, Applied>, migrations: readonly Migration[]): string[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration.sha256]));
  for (const { name, sha256, compatible } of applied.values()) {
    if (known.has(name) ? known.get(name) === sha256 : compatible) continue;
    throw new Error(
      known.has(name)
        ? `Migration ${name} differs from the one applied to this database. Install the original version.`
        : `The database was migrated by a newer promptd, and older versions cannot work with its migration ${name}. Start that version or a newer one, or restore a backup made before the migration.`,
    );
  }
  return [...applied.keys()].filter((name) => !known.has(name));
}

function schemaIsOlder(first: string, { migrations }: Pick<Missing, "migrations">): Error {
  const what = `The database belongs to an older promptd (it lacks ${first}).`;
  const then = "npx promptd migrate or start this version's server";
  return new Error(
    migrations.every(({ isCompatible }) => isCompatible)
      ? `${what} Run ${then}. Servers of the older version can keep running meanwhile.`
      : `${what} Stop the servers of the older version, then run ${then}.`,
  );
}

async function run(tx: Tx, migration: Migration): Promise<void> {
  // A transaction cannot build an index concurrently, and for an empty table it need not.
  await tx.query(migration.concurrentIndex === null ? migration.text : migration.text.replace(/\bconcurrently\b/, ""));
  await record(tx, migration);
  await faultPoint("migrate.mid");
}

async function record(tx: Tx, { name, sha256, isCompatible }: Migration): Promise<void> {
  await tx.query("insert into schema_migrations (name, sha256, compatible) values ($1, $2, $3)", [
    name,
    sha256,
    isCompatible,
  ]);
}

/**
 * Builds an index on its own connection, while this transaction keeps other processes away. If the process of an
 * earlier build was killed, that build continues in the server or has left an invalid index: end it, drop it, and build
 * again.
 */
async function buildIndex(tx: Tx, db: Database, migration: Migration): Promise<void> {
  const name = migration.concurrentIndex ?? "";
  await tx.query(
    "select pg_terminate_backend(pid, 10000) from pg_stat_progress_create_index where index_relid = to_regclass($1)",
    [name],
  );
  const [found] = await tx.query<{ valid: boolean }>(
    "select indisvalid as valid from pg_index where indexrelid = to_regclass($1)",
    [name],
  );
  await tx.query("select 1"); // without parameters, ends the previous statement, for whose snapshot the build would wait
  if (found?.valid === false) await db.runAlone(`drop index concurrently ${name}`);
  if (found?.valid !== true) await db.runAlone(migration.text);
  await record(tx, migration);
  await faultPoint("migrate.mid");
}
