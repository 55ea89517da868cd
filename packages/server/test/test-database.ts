import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { openConnection, sqlState } from "../src/platform/database.ts";
import { withDatabase } from "./database-url.ts";

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A migrated, empty database of its own, cloned from the run's template. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = inject("database");
  const name = `${server.prefix}_${randomBytes(6).toString("hex")}`;
  await runOnServer(server.url, `create database ${name} template ${server.template}`);
  return {
    url: withDatabase(server.url, name),
    // A vacuum of the server's own may be in it, which this role cannot end: the end of the run drops it then.
    drop: () =>
      runOnServer(server.url, `drop database if exists ${name} with (force)`).catch((error: unknown) => {
        if (sqlState(error) !== "42501") throw error;
      }),
  };
}

async function runOnServer(url: string, statement: string): Promise<void> {
  const connection = openConnection(url, "test");
  await connection.connect();
  try {
    await connection.query("set statement_timeout = 0"); // a busy machine may take longer than 5 s for a copy
    await connection.query(statement);
  } finally {
    await connection.end();
  }
}
