import type { Config } from "./platform/config.ts";
import { openDatabase, type Database } from "./platform/database.ts";
import { startEmbeddedPostgres } from "./platform/embedded/supervise.ts";
import type { Log } from "./platform/log.ts";
import { migrate } from "./platform/migrate.ts";

/** The database that all processes of one installation share: the operator's own, or the embedded one. */
export interface Installation {
  readonly db: Database;
  readonly url: string;
  /** Past a transaction pooler: LISTEN works here. */
  readonly listenUrl: string;
  readonly isEmbedded: boolean;
  /** Names of the migrations that this opening applied. */
  readonly applied: readonly string[];
  /** Closes the connections, and stops the embedded server when nobody else uses it. */
  close(): Promise<void>;
}

/** The installation cannot be opened; the message says what to do. */
export class StartFailure extends Error {
  override readonly name = "StartFailure";
}

export interface InstallationOptions {
  readonly config: Config;
  /** Shown by the database beside each connection. */
  readonly role: string;
  readonly log: Log;
  /** Gives the start of an embedded server up. */
  readonly signal?: AbortSignal | undefined;
}

/** Opens the database, starting the embedded one if it is needed and not running, and brings its schema up to date. @throws StartFailure. */
export async function openInstallation(options: InstallationOptions): Promise<Installation> {
  const { config, role, log } = options;
  const { DATABASE_URL: given, DATABASE_DIRECT_URL: direct } = config;
  const embedded = given === null ? await orStartFailure(() => startEmbeddedPostgres(embeddedOptions(options))) : null;
  const url = given ?? embedded?.url ?? "";
  try {
    const applied = await orStartFailure(() => migrate(direct ?? url, log));
    if (applied.length > 0) log.info({ migrations: applied }, "the database schema is up to date");
    const db = await openDatabase({ url, role, log, poolMax: config.PROMPTD_DATABASE_POOL });
    return {
      db,
      url,
      listenUrl: direct ?? url,
      isEmbedded: embedded !== null,
      applied,
      close: async () => {
        await db.close();
        await embedded?.stop();
      },
    };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

/** Processes of one machine that the embedded server has room for, each with its pool and its four other connections. */
const EMBEDDED_PROCESSES = 4;
const CONNECTIONS_BESIDE_POOL = 6;

function embeddedOptions({ config, log, signal }: InstallationOptions) {
  const connections = EMBEDDED_PROCESSES * (config.PROMPTD_DATABASE_POOL + CONNECTIONS_BESIDE_POOL);
  const settings = { max_connections: String(Math.max(60, connections)) };
  return { dataDir: config.dataDir, dbUid: config.PROMPTD_DB_UID, log, signal, settings };
}

async function orStartFailure<Result>(open: () => Promise<Result>): Promise<Result> {
  try {
    return await open();
  } catch (cause) {
    throw new StartFailure(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
