/** A migrated, empty database for one run: on PROMPTD_BENCH_DATABASE_URL's server, or else on a temporary embedded one. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openConnection, openDatabase } from "../../packages/server/src/platform/database/database.ts";
import type { Database } from "../../packages/server/src/platform/database/database.ts";
import { startEmbeddedPostgres } from "../../packages/server/src/platform/embedded/supervise.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";
import { migrate } from "../../packages/server/src/platform/database/migrate.ts";

export interface ScratchDatabase {
  readonly db: Database;
  readonly url: string;
  drop(): Promise<void>;
}

export const benchLog = createLog("error");

export async function createScratchDatabase(): Promise<ScratchDatabase> {
  const given = process.env["PROMPTD_BENCH_DATABASE_URL"];
  return given === undefined ? createOnEmbedded() : createOn(given);
}

async function createOnEmbedded(): Promise<ScratchDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), "promptd-bench-"));
  const server = await startEmbeddedPostgres({ dataDir, log: benchLog });
  const db = await openMigrated(server.url);
  const drop = async () => {
    await db.close();
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { db, url: server.url, drop };
}

async function createOn(url: string): Promise<ScratchDatabase> {
  const name = `promptd_bench_${randomBytes(4).toString("hex")}`;
  await runOn(url, `create database ${name}`);
  const ownUrl = url.replace(/^([a-z]+:\/\/[^/]*\/)[^?]*/, `$1${name}`);
  const db = await openMigrated(ownUrl);
  const drop = async () => {
    await db.close();
    await runOn(url, `drop database ${name} with (force)`);
  };
  return { db, url: ownUrl, drop };
}

async function openMigrated(url: string): Promise<Database> {
  await migrate(url, benchLog);
  return openDatabase({ url, role: "bench", log: benchLog });
}

async function runOn(url: string, statement: string): Promise<void> {
  const connection = openConnection(url, "bench");
  await connection.connect();
  try {
    await connection.query(statement);
  } finally {
    await connection.end();
  }
}
