/**
 * The embedded database: a real PostgreSQL 18 as a child process of the first promptd process, shared by all promptd
 * processes of the data directory. It is restarted if it dies, and stopped by the last process that ends.
 */
import { isConnectionLoss, isUnresponsive } from "../database/errors.ts";
import type { Log } from "../log.ts";
import { settleWithin, sleep } from "../resilience/deadline.ts";
import { joinOrStart, type Found, type Launch, type Session } from "./launch.ts";
import { databaseUrl, ensureSocketLink, prepareClusterFiles } from "./files.ts";
import { DEFAULT_DB_UID } from "./os-account.ts";
import { rotateServerLog } from "./server-log.ts";
import { withStartLock } from "./start-lock.ts";
import { stopUnlessUsed } from "./stop-when-unused.ts";
import { reasonOf } from "../reason-of.ts";

export interface EmbeddedOptions {
  readonly dataDir: string;
  readonly log: Log;
  /** The server's account if promptd runs as root and root owns the data directory; default: 65534. */
  readonly dbUid?: number | undefined;
  /** Override our server settings; for tests (`fsync` off, more connections). */
  readonly settings?: Readonly<Record<string, string>>;
  /** Ends a startup in progress; a server that it has already started is stopped again. */
  readonly signal?: AbortSignal | undefined;
}

export interface EmbeddedPostgres {
  /** Connects to the database `promptd` as role `promptd` over a Unix socket, without a password. */
  readonly url: string;
  /** Stops the server unless another promptd uses it. Call it after the application has closed its connections. */
  stop(): Promise<void>;
}

/**
 * @throws Error with a clear message for the operator: wrong owner, other major version, no programs, failed startup.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const files = await prepareClusterFiles(options.dataDir, options.dbUid ?? DEFAULT_DB_UID);
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const launch: Launch = { files, log: options.log, settings: options.settings ?? {}, signal };
  const found = await withStartLock(files.lockFile, () => joinOrStart(launch), { signal });
  const supervisor = superviseServer(launch, found);
  const housekeeping = setInterval(() => void tidy(launch), HOUSEKEEPING_MS).unref();
  return {
    url: databaseUrl(files, "promptd", "promptd"),
    stop: async () => {
      clearInterval(housekeeping);
      stopping.abort();
      await supervisor.release();
    },
  };
}

const HOUSEKEEPING_MS = 60_000;

async function tidy({ files, log }: Launch): Promise<void> {
  try {
    await rotateServerLog(files.logFile);
    await ensureSocketLink(files);
  } catch (error) {
    log.warn({ err: error }, "maintenance of the embedded database failed");
  }
}

const BACK_OFF_MS_MAX = 30_000;
/**
 * A server that died sooner than this counts as a failed start, so that a broken configuration does not restart in a
 * loop.
 */
const STABLE_MS = 5_000;

/** Returns 0 for an immediate retry after the first failure, then 1, 2, 4 … 30 s. */
export function backOffMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(1_000 * 2 ** (failures - 1), BACK_OFF_MS_MAX);
}

/** A frozen server never closes a connection. */
const GOODBYE_MS_MAX = 1_000;
/** A process that holds the start lock for longer than this is starting the server for itself, and will stop it. */
const LOCK_MS_MAX = 15_000;

/** Watches the server by its session, whose end shows at once, without polling, that the server is gone. */
function superviseServer(launch: Launch, first: Found) {
  const { files, log, signal } = launch;
  let session: Session | null = null;
  let recovery: Promise<void> = Promise.resolve();
  let failures = 0;

  function watch({ session: opened, isStarted }: Found): void {
    const openedMs = performance.now();
    session = opened;
    const onEnd = (): void => {
      if (session !== opened) return;
      session = null;
      if (signal.aborted) return;
      failures = isStarted && performance.now() - openedMs < STABLE_MS ? failures + 1 : 0;
      log.warn({ dataDir: files.dataDir }, "the connection to the database server ended; checking the server");
      recovery = recover();
    };
    opened.once("end", onEnd);
    // If the connection ended while the start lock was released, nobody listened to its event.
    opened.query("select 1").catch((error: unknown) => {
      if (isConnectionLoss(error) && !isUnresponsive(error)) onEnd();
    });
  }

  async function recover(): Promise<void> {
    while (!signal.aborted) {
      await sleep(backOffMs(failures), signal).catch(() => {});
      if (signal.aborted) return;
      try {
        watch(await withStartLock(files.lockFile, () => joinOrStart(launch), { signal }));
        return;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        const reason = reasonOf(error); // ends with the server's last log lines
        log.error({ reason, retryMs: backOffMs(failures) }, "the database server is down");
      }
    }
  }

  /** Must not fail or hang, whatever state the server, its disk, or another promptd is in. */
  async function release(): Promise<void> {
    await recovery;
    const stop = async () => {
      await settleWithin([session?.end() ?? Promise.resolve()], GOODBYE_MS_MAX);
      await stopUnlessUsed(files, log);
    };
    await withStartLock(files.lockFile, stop, { waitMsMax: LOCK_MS_MAX }).catch((error: unknown) => {
      void session?.end().catch(() => {});
      log.warn({ err: error }, "could not stop the database server");
    });
  }

  watch(first);
  return { release };
}
