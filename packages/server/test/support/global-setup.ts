/**
 * Vitest's global set-up: the program that tests start as a process, and one PostgreSQL per test run with a migrated
 * template, from which every test file clones its own databases. PROMPTD_TEST_DATABASE_URL names a server to use instead; its role must be allowed to create databases.
 */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { openConnection } from "../../src/platform/database/database.ts";
import { findPostmaster, waitForEnd } from "../../src/platform/embedded/postmaster.ts";
import { startEmbeddedPostgres } from "../../src/platform/embedded/supervise.ts";
import { createLog } from "../../src/platform/log.ts";
import { migrate } from "../../src/platform/database/migrate.ts";
import { buildProgram } from "./built-program.ts";
import { withDatabase } from "./database-url.ts";

/** What test files get by `inject("database")`. */
export interface TestDatabaseServer {
  /** Leads to the maintenance database; test-database.ts puts in the name of a clone. */
  readonly url: string;
  readonly template: string;
  /** Starts the name of every database of this run. */
  readonly prefix: string;
}

declare module "vitest" {
  interface ProvidedContext {
    database: TestDatabaseServer;
  }
}

const log = createLog("error");

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env["PROMPTD_TEST_DATABASE_URL"];
  const server = given === undefined ? await startThrowaway() : { url: given, stop: async () => {} };
  const prefix = `promptd_test_${process.pid}`;
  const database: TestDatabaseServer = { url: server.url, template: `${prefix}_template`, prefix };
  await runOn(database.url, [`create database ${database.template}`]);
  await migrate(withDatabase(database.url, database.template), log);
  project.provide("database", database);
  process.env["TEST_PROGRAM"] = await buildProgram(); // the workers inherit it
  return async () => {
    await dropAll(database);
    await server.stop();
  };
}

/** Nothing here outlives the run, so no commit waits for the disk; a hundred files of twelve connections fit. */
const THROWAWAY_SETTINGS = { max_connections: "300", fsync: "off", full_page_writes: "off", synchronous_commit: "off" };

const STOP_MS_MAX = 10_000;

async function startThrowaway(): Promise<{ url: string; stop(): Promise<void> }> {
  await removeAbandoned();
  const dataDir = await mkdtemp(join(tmpdir(), `promptd-test-${process.pid}-`));
  const server = await startEmbeddedPostgres({ dataDir, log, settings: THROWAWAY_SETTINGS });
  await runOn(server.url.replace("promptd@/promptd", "postgres@/postgres"), ["alter role promptd createdb"]);
  return {
    url: withDatabase(server.url, "postgres"),
    stop: async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Servers of test runs that were killed: their directory names the run's process. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const run = /^promptd-test-(?<pid>\d+)-\w{6}$/.exec(name)?.groups?.["pid"];
    if (run === undefined || (await stat(`/proc/${run}`).catch(() => null)) !== null) continue;
    const cluster = join(tmpdir(), name, "pg");
    const server = await findPostmaster(cluster);
    if (server !== null) {
      process.kill(server, "SIGQUIT");
      await waitForEnd(cluster, server, STOP_MS_MAX);
    }
    await rm(join(tmpdir(), name), { recursive: true, force: true });
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

async function runOn(url: string, statements: readonly string[]): Promise<void> {
  const connection = openConnection(url, "test");
  await connection.connect();
  try {
    for (const statement of statements) await connection.query(statement);
  } finally {
    await connection.end();
  }
}
