/**
 * Joins the running server of a data directory or starts one, and makes sure that promptd's role and database exist.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { openConnection } from "../database/database.ts";
import { isConnectionLoss } from "../database/errors.ts";
import { codeOf } from "../reason-of.ts";
import { faultPoint } from "../fault-injection.ts";
import type { Log } from "../log.ts";
import { pollUntil } from "../resilience/deadline.ts";
import { prepareBinaries } from "./binaries.ts";
import { childOptions, dataPath, ensureCluster, explainChildFailure } from "./cluster.ts";
import { databaseUrl, ensureSocketLink, type ClusterFiles } from "./files.ts";
import { findPostmaster, isReady, readPidFile, removeStalePidFile } from "./postmaster.ts";
import { logSize, openServerLog, readLogTail, rotateServerLog } from "./server-log.ts";

/** A superuser's connection to the maintenance database; superusers have three connections reserved. */
export type Session = ReturnType<typeof openConnection>;

export interface Launch {
  readonly files: ClusterFiles;
  readonly log: Log;
  /** Override the server settings below; for tests. */
  readonly settings: Readonly<Record<string, string>>;
  /** Ends every wait; a server that was already started continues to start. */
  readonly signal: AbortSignal;
}

/** Sixty connections are enough for four processes of twelve and the operator. Statements and values are not logged. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "",
  unix_socket_directories: ".",
  unix_socket_permissions: "0700",
  port: "5432",
  cluster_name: "promptd",
  max_connections: "60",
  shared_buffers: "128MB",
  max_wal_size: "512MB",
  jit: "off",
  autovacuum_naptime: "10s",
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  log_statement: "none",
  log_min_error_statement: "panic",
  log_parameter_max_length_on_error: "0",
};

const POLL_MS = 20;
const RETRY_MS = 200;
const RETRY_MS_MAX = 30_000;
/** Crash recovery replays at most max_wal_size, but a slow disk may take minutes for it. */
const READY_MS_MAX = 300_000;

/** What a server that has just died still holds, and releases on its own. */
const PASSING_REFUSAL = /pre-existing shared memory block|lock file "[^"]*" already exists/;
/** SQLSTATE cannot_connect_now: starting up, shutting down, or in recovery. */
const NOT_YET = "57P03";

export interface Found {
  readonly session: Session;
  /** True: the server had to be started. */
  readonly isStarted: boolean;
}

/** Must be called under the start lock. */
export async function joinOrStart(launch: Launch): Promise<Found> {
  await ensureSocketLink(launch.files);
  const joined = await join(launch);
  const session = joined ?? (await start(launch));
  try {
    await ensureDatabase(session);
  } catch (error) {
    void session.end().catch(() => {});
    throw error;
  }
  return { session, isStarted: joined === null };
}

/** A running server may still be starting or already stopping; waiting shows which. */
async function join(launch: Launch): Promise<Session | null> {
  const { clusterDir } = launch.files;
  let isWaiting = false;
  const ask = async () => {
    const tried = await tryConnect(launch.files, "embedded");
    if (typeof tried !== "string") return tried;
    if (tried === "no server" && (await findPostmaster(clusterDir)) === null) return tried;
    if (!isWaiting) launch.log.warn({ clusterDir }, "the database server is not accepting connections yet; retrying");
    isWaiting = true;
    return null;
  };
  const found = await pollUntil(ask, { everyMs: POLL_MS, timeoutMs: READY_MS_MAX, signal: launch.signal });
  if (found === "no server") return null;
  if (found !== null && isWaiting) launch.log.info("the database server is accepting connections");
  if (found !== null) return found;
  throw new Error(
    `The database server in ${clusterDir} is running but not accepting connections; see ${launch.files.logFile}.`,
  );
}

export async function tryConnect(files: ClusterFiles, role: string): Promise<Session | "no server" | "not yet"> {
  const session = openConnection(databaseUrl(files, "postgres", "postgres"), role);
  try {
    await session.connect();
    // A copied or moved directory must not lead to the server of the original.
    const { rows } = await session.query<{ text: string }>("select pg_read_file('postmaster.pid') as text");
    if (rows[0]?.text === (await readPidFile(files.clusterDir))) return session;
    throw new Error(`The server of another data directory is listening at ${files.socketDir}; stop it first.`);
  } catch (error) {
    void session.end().catch(() => {});
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ECONNREFUSED") return "no server";
    if (code === NOT_YET || isConnectionLoss(error)) return "not yet";
    throw error;
  }
}

async function start(launch: Launch): Promise<Session> {
  const { files, log } = launch;
  const binaries = await prepareBinaries();
  await ensureCluster(files, binaries, log);
  await rotateServerLog(files.logFile).catch((error: unknown) => log.warn({ err: error }, "pg.log was not rotated"));
  let refusal = "";
  const ask = async () => {
    const startedMs = performance.now();
    const session = await startOnce(launch, binaries.postgres);
    if (typeof session !== "string") {
      log.info({ dataDir: files.dataDir, durationMs: Math.round(performance.now() - startedMs) }, "database started");
      return session;
    }
    refusal = session;
    if (!PASSING_REFUSAL.test(refusal)) return refusal;
    if (await removeStalePidFile(files.clusterDir))
      log.warn("removed the pid file of a database server that is no longer running");
    return null;
  };
  const started = await pollUntil(ask, { everyMs: RETRY_MS, timeoutMs: RETRY_MS_MAX, signal: launch.signal });
  if (started !== null && typeof started !== "string") return started;
  throw new Error(`PostgreSQL did not start. The end of ${files.logFile}:\n${refusal}`);
}

/** @returns the session, or the server's last log lines if it ended before it was ready. */
async function startOnce(launch: Launch, program: string): Promise<Session | string> {
  const logStart = await logSize(launch.files.logFile);
  const child = await spawnServer(launch, program);
  await faultPoint("embedded.before_ready");
  try {
    return (await waitUntilReady(launch, child)) ?? (await readLogTail(launch.files.logFile, logStart));
  } catch (error) {
    // A process that stops waiting does not need the server, and other processes may not find it yet without a pid
    // file.
    if (launch.signal.aborted && child.kill("SIGINT")) {
      child.ref(); // nothing else may keep this process alive until then
      await once(child, "exit");
    }
    throw error;
  }
}

/** @returns null if the server ended instead. */
async function waitUntilReady({ files, signal }: Launch, child: ChildProcess): Promise<Session | null> {
  const ask = async () => {
    signal.throwIfAborted(); // also if the server is ready at once
    if (child.exitCode !== null || child.signalCode !== null) return "ended";
    const session = (await isReady(files.clusterDir)) ? await tryConnect(files, "embedded") : "not yet";
    return typeof session === "string" ? null : session;
  };
  const found = await pollUntil(ask, { everyMs: POLL_MS, timeoutMs: READY_MS_MAX, signal });
  if (found !== null) return found === "ended" ? null : found;
  throw new Error(`PostgreSQL was not ready within ${READY_MS_MAX / 1000} s; see ${files.logFile}.`);
}

/**
 * Spawns the server detached, so that Ctrl-C reaches only promptd, which can then finish its work first. The server
 * writes to a file, so that it survives promptd's death.
 */
async function spawnServer(launch: Launch, program: string): Promise<ChildProcess> {
  const { files, settings } = launch;
  const options = Object.entries({ ...SETTINGS, ...settings }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const file = await openServerLog(files.logFile);
  try {
    const child = spawn(program, ["-D", dataPath(files.clusterDir, files.account), ...options], {
      ...childOptions(files.clusterDir, files.account),
      detached: true,
      stdio: ["ignore", file.fd, file.fd],
    });
    await once(child, "spawn");
    child.unref();
    return child;
  } catch (cause) {
    throw explainChildFailure(cause, files.account);
  } finally {
    await file.close();
  }
}

/** promptd's role is not a superuser, but it may read the settings that /readyz reports and all of pg_stat_activity. */
async function ensureDatabase(session: Session): Promise<void> {
  await session.query("set statement_timeout = 0");
  const { rows } = await session.query<{ has_role: boolean; has_database: boolean }>(
    `select exists (select from pg_roles where rolname = 'promptd') as has_role,
            exists (select from pg_database where datname = 'promptd') as has_database`,
  );
  if (rows[0]?.has_role !== true) await session.query("create role promptd login");
  if (rows[0]?.has_database === true) return;
  await session.query("grant pg_monitor to promptd");
  await session.query("create database promptd owner promptd");
}
