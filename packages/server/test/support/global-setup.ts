/**
 * Vitest's global setup: the program that tests start as a process, and one PostgreSQL per test run with a migrated
 * template, from which every test file clones its own databases. PROMPTD_TEST_DATABASE_URL names a server to use
 * instead; its role must be allowed to create databases.
 */
import { chmod, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { openConnection } from "../../src/platform/database/database.ts";
import { findPostmaster, waitForEnd } from "../../src/platform/embedded/postmaster.ts";
import { startEmbeddedPostgres } from "../../src/platform/embedded/supervise.ts";
import { createLog } from "../../src/platform/log.ts";
import { migrate } from "../../src/platform/database/migrate.ts";
import { buildProgram } from "./built-program.ts";
import { COMPILE_CACHE } from "./promptd-process.ts";
import { chooseDirectory, THROWAWAY_SETTINGS } from "./throwaway-server.ts";
import { withDatabase } from "./database-url.ts";

/** What test files get from `inject("database")`. */
export interface TestDatabaseServer {
  /** Points to the maintenance database; test-database.ts inserts the name of a clone. */
  readonly url: string;
  readonly template: string;
  /** Prefix of the name of every database of this run. */
  readonly prefix: string;
  /** How databases are copied: as files if no checkpoint waits for a disk. */
  readonly copy: "file_copy" | "wal_log";
}

declare module "vitest" {
  interface ProvidedContext {
    database: TestDatabaseServer;
  }
}

const log = createLog("error");

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = await makeHome();
  const given = process.env["PROMPTD_TEST_DATABASE_URL"];
  const server =
    given === undefined ? await startThrowaway(join(home, "server")) : { url: given, stop: async () => {} };
  const prefix = `promptd_test_${process.pid}`;
  const template = `${prefix}_template`;
  const database = { url: server.url, template, prefix, copy: await chooseCopy(server.url) };
  await runOn(database.url, [`create database ${template}`]);
  await migrate(withDatabase(database.url, database.template), log);
  project.provide("database", database);
  // The workers inherit both, and so do the processes they start.
  process.env["TEST_PROGRAM"] = await buildProgram();
  process.env["NODE_COMPILE_CACHE"] ??= COMPILE_CACHE;
  return async () => {
    await dropAll(database);
    await server.stop();
    await removeHome(home);
  };
}

/** The temporary files of all tests of this run, removed at its end. */
async function makeHome(): Promise<string> {
  const place = await chooseDirectory();
  await removeAbandoned(place);
  const home = await mkdtemp(join(place, `promptd-test-${process.pid}-`));
  await chmod(home, 0o1777); // like the machine's own: some tests start processes of other accounts
  process.env["TMPDIR"] = home; // the workers inherit it
  return home;
}

/** Browsers exit with their workers, after this, and write until then: the next run removes what they leave. */
async function removeHome(home: string): Promise<void> {
  await rm(home, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
}

async function chooseCopy(url: string): Promise<TestDatabaseServer["copy"]> {
  const [row] = await runOn<{ fsync: string }>(url, ["show fsync"]);
  return row?.fsync === "off" ? "file_copy" : "wal_log";
}

const STOP_MS_MAX = 10_000;

async function startThrowaway(dataDir: string): Promise<{ url: string; stop(): Promise<void> }> {
  const server = await startEmbeddedPostgres({ dataDir, log, settings: THROWAWAY_SETTINGS });
  await runOn(server.url.replace("promptd@/promptd", "postgres@/postgres"), ["alter role promptd createdb"]);
  return { url: withDatabase(server.url, "postgres"), stop: () => server.stop() };
}

/** Removes files of killed test runs, and their servers: the name contains the run's process id. */
async function removeAbandoned(place: string): Promise<void> {
  for (const name of await readdir(place)) {
    const run = /^promptd-test-(?<pid>\d+)-\w{6}$/.exec(name)?.groups?.["pid"];
    if (run === undefined || (await stat(`/proc/${run}`).catch(() => null)) !== null) continue;
    const cluster = join(place, name, "server/pg");
    const server = await findPostmaster(cluster);
    if (server !== null) {
      process.kill(server, "SIGQUIT");
      await waitForEnd(cluster, server, STOP_MS_MAX);
    }
    await rm(join(place, name), { recursive: true, force: true });
  }
}

async function dropAll(server: TestDatabaseServer): Promise<void> {
  const connection = openConnection(server.url, "test");
  await connection.connect();
  const { rows } = await connection.query<{ datname: string }>(
    "select datname from pg_database where starts_with(datname, $1)",
    [server.prefix],
  );
  for (const { datname } of rows) await connection.query(`drop database if exists ${datname} with (force)`);
  await connection.end();
}

/** @returns the rows of the last statement. */
async function runOn<Row extends object>(url: string, statements: readonly string[]): Promise<Row[]> {
  const connection = openConnection(url, "test");
  await connection.connect();
  try {
    let rows: Row[] = [];
    for (const statement of statements) ({ rows } = await connection.query<Row>(statement));
    return rows;
  } finally {
    await connection.end();
  }
}
