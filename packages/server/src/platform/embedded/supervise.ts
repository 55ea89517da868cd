/**
 * The embedded database: real PostgreSQL 18 as a child process of whichever promptd came first, shared by all promptd
 * processes of the data directory, started again when it dies, stopped by the last one that leaves.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Log } from "../log.ts";
import { joinOrStart, type Launch, type Session } from "./launch.ts";
import { databaseUrl, ensureSocketLink, preparePlace } from "./place.ts";
import { rotateServerLog } from "./server-log.ts";
import { withStartLock } from "./start-lock.ts";
import { stopUnlessUsed } from "./users.ts";

export interface EmbeddedOptions {
  readonly dataDir: string;
  readonly log: Log;
  /** Account of the server when promptd runs as root and owns the data directory; default 65534. */
  readonly dbUid?: number | undefined;
  /** Server settings over our own; for tests (`fsync` off, more connections). */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgres {
  /** Leads to the database `promptd` as role `promptd` over a unix socket, without a password. */
  readonly url: string;
  /** Call it after the application closed its connections. Stops the server unless another promptd uses it. */
  stop(): Promise<void>;
}

/** @throws Error with one clear message for the operator: wrong owner, other major version, no binaries, no start. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const place = await preparePlace(options.dataDir, options.dbUid);
  const launch: Launch = { place, log: options.log, settings: options.settings ?? {} };
  const { session } = await withStartLock(place.lockFile, () => joinOrStart(launch));
  const watch = superviseServer(launch, session);
  const housekeeping = setInterval(() => void tidy(launch), HOUSEKEEPING_MS).unref();
  return {
    url: databaseUrl(place, "promptd", "promptd"),
    stop: async () => {
      clearInterval(housekeeping);
      await watch.stop(() => stopUnlessUsed(place, options.log));
    },
  };
}

const HOUSEKEEPING_MS = 60_000;

async function tidy({ place, log }: Launch): Promise<void> {
  try {
    await rotateServerLog(place.logFile);
    await ensureSocketLink(place);
  } catch (error) {
    log.warn({ err: error }, "housekeeping of the embedded database failed");
  }
}

const BACK_OFF_MS_MAX = 30_000;
/** A server that died sooner after its start counts as a failed start: a broken configuration must not spin. */
const STABLE_MS = 5_000;

/** 0 for the first failure's immediate retry, then 1, 2, 4 … 30 s. */
export function backOffMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(1_000 * 2 ** (failures - 1), BACK_OFF_MS_MAX);
}

/** The session's end is the sign that the server is gone: no polling, noticed at once. */
function superviseServer(launch: Launch, first: Session) {
  const { place, log } = launch;
  const stopping = new AbortController();
  let session: Session | null = null;
  let recovery: Promise<void> = Promise.resolve();
  let failures = 0;

  function hold(opened: Session, isStarted: boolean): void {
    const openedMs = performance.now();
    session = opened;
    opened.once("end", () => {
      session = null;
      if (stopping.signal.aborted) return;
      failures = isStarted && performance.now() - openedMs < STABLE_MS ? failures + 1 : 0;
      log.warn({ dataDir: place.dataDir }, "the connection to the database server ended; looking after it");
      recovery = recover();
    });
  }

  async function recover(): Promise<void> {
    while (!stopping.signal.aborted) {
      await wait(backOffMs(failures), undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      try {
        const found = await withStartLock(place.lockFile, () => joinOrStart(launch));
        hold(found.session, found.isStarted);
        return;
      } catch (error) {
        failures += 1;
        log.error({ err: error, retryMs: backOffMs(failures) }, "the database server is down");
      }
    }
  }

  hold(first, true);
  return {
    stop: async (leave: () => Promise<void>) => {
      stopping.abort();
      await recovery;
      await withStartLock(place.lockFile, async () => {
        await session?.end();
        await leave();
      });
    },
  };
}
