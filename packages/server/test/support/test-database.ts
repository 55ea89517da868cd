import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, inject } from "vitest";
import {
  openConnection,
  openDatabase,
  type Database,
  type DatabaseOptions,
} from "../../src/platform/database/database.ts";
import { codeOf } from "../../src/platform/reason-of.ts";
import { createLog } from "../../src/platform/log.ts";
import { withDatabase } from "./database-url.ts";

/** Filters pg_locks, which shows all databases of the server: other tests run on copies of the same template. */
export const IN_THIS_DATABASE = "database = (select oid from pg_database where datname = current_database())";

export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  drop(): Promise<void>;
}

/**
 * A separate, migrated, empty database, cloned from the run's template; or a copy of a database without connections.
 */
export async function createTestDatabase(original?: TestDatabase): Promise<TestDatabase> {
  const server = inject("database");
  const template = original?.name ?? server.template;
  const name = `${server.prefix}_${randomBytes(6).toString("hex")}`;
  await runOnServer(server.url, `create database ${name} template ${template} strategy ${server.copy}`);
  return {
    name,
    url: withDatabase(server.url, name),
    // The server's autovacuum may be connected, which this role cannot end: the end of the run drops the database then.
    drop: () =>
      runOnServer(server.url, `drop database if exists ${name} with (force)`).catch((error: unknown) => {
        if (codeOf(error) !== "42501") throw error;
      }),
  };
}

export interface OpenTestDatabase {
  readonly db: Database;
  readonly url: string;
  /** Closes the connections and drops the database. */
  readonly close: () => Promise<void>;
}

/** A separate database with connections to it; `change` overrides the usual options. */
export async function openTestDatabase(change: Partial<Omit<DatabaseOptions, "url">> = {}): Promise<OpenTestDatabase> {
  const database = await createTestDatabase();
  const { url } = database;
  const db = await openDatabase({ url, role: "test", log: createLog("silent"), ...change });
  return {
    db,
    url,
    close: async () => {
      await db.close();
      await database.drop();
    },
  };
}

/** One database for all tests of a file or a group: created before the first of them, dropped after the last. */
export function useTestDatabase(
  take: (opened: OpenTestDatabase) => void,
  change: Partial<Omit<DatabaseOptions, "url">> = {},
): void {
  let opened: OpenTestDatabase | null = null;
  beforeAll(async () => {
    opened = await openTestDatabase(change);
    take(opened);
  });
  afterAll(() => opened?.close());
}

const COPY_MS_MAX = 60_000;

async function runOnServer(url: string, statement: string): Promise<void> {
  // A busy machine may need longer for a copy than the service allows for a statement.
  const connection = openConnection(`${url}${url.includes("?") ? "&" : "?"}query_timeout=${COPY_MS_MAX}`, "test");
  await connection.connect();
  try {
    await connection.query("set statement_timeout = 0");
    await connection.query(statement);
  } finally {
    await connection.end();
  }
}
