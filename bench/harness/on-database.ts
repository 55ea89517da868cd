import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openConnection } from "../../packages/server/src/platform/database/database.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";
import { migrate } from "../../packages/server/src/platform/database/migrate.ts";
import { withDatabase } from "../../packages/server/test/support/database-url.ts";
import { killLeftovers } from "../../packages/server/test/support/promptd-process.ts";
import { startChaosDatabase, type ChaosDatabase } from "../chaos/database-server.ts";
import { killServers } from "./child-server.ts";

/** Measures on a separate, migrated database, and never leaves anything running. */
export async function onDatabase<Result extends object>(
  kind: "embedded" | "postgres",
  measure: (server: ChaosDatabase) => Promise<Result>,
): Promise<Result & { readonly database: string }> {
  const home = mkdtempSync(join(tmpdir(), "promptd-measure-"));
  const server = await startChaosDatabase(kind, home);
  try {
    await migrate(server.url, createLog("silent", "stderr"));
    return { ...(await measure(server)), database: server.version };
  } finally {
    await killServers();
    await killLeftovers();
    await server.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Creates another database on the same server, for a peer. @returns its URL. */
export async function createDatabaseOn(server: ChaosDatabase, database: string): Promise<string> {
  const connection = openConnection(server.superuserUrl, "bench");
  await connection.connect();
  try {
    await connection.query(`create database ${database} owner promptd`);
  } finally {
    await connection.end();
  }
  return withDatabase(server.url, database);
}
