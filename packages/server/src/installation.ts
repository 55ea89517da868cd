import { access, constants } from "node:fs/promises";
import type { Config } from "./platform/config/config.ts";
import { openDatabase, type Database } from "./platform/database/database.ts";
import { isOutage } from "./platform/database/errors.ts";
import { startEmbeddedPostgres } from "./platform/embedded/supervise.ts";
import { codeOf, describeDataDirFailure, reasonOf } from "./platform/reason-of.ts";
import type { Log } from "./platform/log.ts";
import { applyMissing, migrate, thisRelease, type MigrationScope, type Release } from "./platform/database/migrate.ts";
import { retry } from "./platform/resilience/retry.ts";
import { orStartFailure, StartFailure } from "./start-failure.ts";
import { makeFolder } from "./platform/make-folder.ts";

/** The database that all processes of one installation share: the operator's own, or the embedded one. */
export interface Installation {
  readonly db: Database;
  readonly url: string;
  /** Bypasses a transaction pooler, so LISTEN works here. */
  readonly listenUrl: string;
  readonly isEmbedded: boolean;
  /** Names of the migrations that were applied while opening. */
  readonly applied: readonly string[];
  /** Closes the connections, and stops the embedded server if nobody else uses it. */
  close(): Promise<void>;
}

export interface InstallationOptions {
  readonly config: Config;
  /** The name that the database shows for each connection. */
  readonly role: string;
  readonly log: Log;
  /** What may be done to the schema (default: `upgrade`). */
  readonly migrations?: MigrationScope;
  /** As in the database options. */
  readonly opensAhead?: boolean;
  /** Cancels the startup. */
  readonly signal?: AbortSignal | undefined;
  /** How long to retry while the database does not respond (default: one minute). */
  readonly retryMs?: number;
}

/** A first start applies too many changes to name them all. */
function countChanges(applied: readonly string[]) {
  const migrations = applied.filter((name) => !name.endsWith(".sql"));
  const [first, last] = [migrations[0], migrations.at(-1)];
  return { migrations: migrations.length, first, last, functions: applied.length - migrations.length };
}

/** Opens the database and brings its schema up to date. Starts the embedded database if needed. @throws StartFailure. */
export async function openInstallation(options: InstallationOptions): Promise<Installation> {
  const { config, log } = options;
  const { DATABASE_URL: given, DATABASE_DIRECT_URL: direct } = config;
  const retryStart = createStartRetry(options);
  const startEmbedded = () => retryStart(() => startEmbeddedPostgres(embeddedOptions(options)), isEmbeddedOutage);
  const embedded = given === null ? await orStartFailure(startEmbedded) : null;
  const url = given ?? embedded?.url ?? "";
  const outroOf = (setting: string, address: string) =>
    embedded === null ? { outro: `\n${setting} points to ${describeAddress(address)}.` } : {};
  const scope = { scope: options.migrations, signal: options.signal };
  const settings = { ...options, url, poolMax: config.PROMPTD_DATABASE_POOL };
  const migrateDirectly = (address: string) =>
    orStartFailure(() => retryStart(() => migrate(address, log, scope)), outroOf("DATABASE_DIRECT_URL", address));
  const open = () => orStartFailure(() => retryStart(() => openDatabase(settings)), outroOf("DATABASE_URL", url));
  const migrateOn = (opened: Database, release: Release) =>
    orStartFailure(
      () => retryStart(() => applyMissing(opened, log, { ...scope, release })),
      outroOf("DATABASE_URL", url),
    );
  let db: Database | null = null;
  try {
    const appliedDirectly = direct === null ? null : await migrateDirectly(direct);
    const opening = open();
    const release = thisRelease(); // read while the connection is made
    const opened = (db = await opening);
    const applied = appliedDirectly ?? (await migrateOn(opened, release)); // on a connection that is already open
    if (applied.length > 0) log.info(countChanges(applied), "the database schema is up to date");
    logRoute(opened, log);
    return {
      db: opened,
      url,
      listenUrl: direct ?? url,
      isEmbedded: embedded !== null,
      applied,
      close: async () => {
        await opened.close();
        await embedded?.stop();
      },
    };
  } catch (error) {
    await db?.close();
    await embedded?.stop();
    throw error;
  }
}

function logRoute({ route }: Database, log: Log): void {
  if (!route.isPooled) return;
  log.info("the database is behind a pooler; timeouts are set in each transaction");
  if (!route.keepsNames) {
    log.warn(
      "the pooler does not support prepared statements, so every statement is parsed again; set max_prepared_statements (PgBouncer 1.21 or newer)",
    );
  }
}

/** A database that was killed under load replays its log for many seconds. Anything longer needs a person. */
const RETRY_MS = 60_000;

/** Retries the startup steps while the database restarts or recovers. Logs two lines, however often it retries. */
function createStartRetry({ log, signal, retryMs = RETRY_MS }: InstallationOptions) {
  let isWaiting = false;
  return async <Result>(work: () => Promise<Result>, on = isOutage): Promise<Result> => {
    const onRetry = (error: unknown) => {
      if (!isWaiting) log.warn({ reason: reasonOf(error), retryMs }, "the database is not responding yet; retrying");
      isWaiting = true;
    };
    try {
      const backoff = { baseMs: 100, capMs: 1_000 };
      const result = await retry(work, { on, backoff, timeoutMs: retryMs, signal, onRetry });
      if (isWaiting) log.info("the database is responding");
      isWaiting = false;
      return result;
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  };
}

/** Retrying does not help when a file is missing, such as a PostgreSQL program. */
function isEmbeddedOutage(error: unknown): boolean {
  return isOutage(error) && codeOf(error) !== "ENOENT";
}

/** Describes the operator's database URL without its password. */
function describeAddress(url: string): string {
  const { username = "", host = "", pathname = "" } = URL.parse(url) ?? {};
  const server = host === "" ? "a socket on this machine" : host;
  return `${server}, database "${decodeURIComponent(pathname.slice(1))}", user "${decodeURIComponent(username)}"`;
}

/** Creates the data directory for whatever is stored in it besides an embedded database: files, the secret, the demo key. @throws StartFailure. */
export async function makeDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir, 0o700);
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new StartFailure(describeDataDirFailure(dataDir, cause), { cause });
  }
}

/** How many processes on this machine the embedded server has room for, each with its pool and five other connections. */
const EMBEDDED_PROCESSES = 4;
const CONNECTIONS_BESIDE_POOL = 6;

function embeddedOptions({ config, log, signal }: InstallationOptions) {
  const connections = EMBEDDED_PROCESSES * (config.PROMPTD_DATABASE_POOL + CONNECTIONS_BESIDE_POOL);
  const settings = { max_connections: String(Math.max(60, connections)) };
  return { dataDir: config.dataDir, dbUid: config.PROMPTD_DB_UID, log, signal, settings };
}
