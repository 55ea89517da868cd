/**
 * The lease of a worker process: one row, renewed three times per lease, and more often after a beat that failed. When a beat says that the worker was swept, or
 * when no beat has succeeded for five sixths of the lease, the lease counts as lost: everything is dropped before another
 * worker may claim it, and the next contact with the database takes a new id. The old row is swept like that of a dead
 * process.
 */
import type { Database } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import { VERSION } from "../../platform/version.ts";
import { beat, registerWorker, removeWorker } from "./queue.ts";

export interface LeaseOptions {
  /** A connection of its own: a beat must never wait behind other work. */
  readonly beats: Database;
  readonly log: Log;
  readonly newId: () => string;
  readonly leaseMs: number;
  /** The runs of this worker are no longer its own. */
  readonly onLost: () => void;
  /** After each good beat; `mayJudge`: the contact before it was good as well, so others could beat in between. */
  readonly onBeat: (mayJudge: boolean) => Promise<void>;
}

export interface Lease {
  readonly workerId: string;
  /** False between losing the lease and having a new one: claim nothing. */
  readonly isHeld: boolean;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const BEATS_PER_LEASE = 3;
const FENCE_SHARE = 5 / 6;
const LOOKS_PER_LEASE = 12;

export function createLease(options: LeaseOptions): Lease {
  const { beats, log, leaseMs } = options;
  let workerId = options.newId();
  let isHeld = false;
  let lastBeatMs = 0;
  let triedMs = 0;
  /** Beats that succeeded, without one that failed between them. */
  let goodInARow = 0;
  let turn: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  async function renew(): Promise<void> {
    const sentMs = performance.now();
    triedMs = sentMs;
    try {
      if (!isHeld) await register();
      else if (!(await beat(beats, workerId))) return lose("it was swept by another process");
      lastBeatMs = sentMs; // the lease counts from before the statement: its answer may have been slow
      goodInARow += 1;
      await options.onBeat(goodInARow > 1);
    } catch (error) {
      goodInARow = 0;
      log.warn({ err: error, workerId }, "a beat failed");
    }
  }
  async function register(): Promise<void> {
    await registerWorker(beats, workerId, VERSION);
    isHeld = true;
  }
  function lose(why: string): void {
    if (!isHeld) return;
    log.warn({ workerId }, `the lease is lost: ${why}; its runs are dropped here and claimed again`);
    isHeld = false;
    goodInARow = 0;
    workerId = options.newId();
    options.onLost();
  }
  /** After an outage every moment counts for the runs of those that died in it: no waiting for the next regular beat. */
  function look(): void {
    const nowMs = performance.now();
    if (isHeld && nowMs - lastBeatMs > leaseMs * FENCE_SHARE) lose("the database did not answer in time");
    if (goodInARow > 1 && nowMs - triedMs < leaseMs / BEATS_PER_LEASE) return;
    turn ??= renew().finally(() => {
      turn = null;
    });
  }

  return {
    get workerId() {
      return workerId;
    },
    get isHeld() {
      return isHeld;
    },
    start: async () => {
      lastBeatMs = performance.now();
      await register();
      goodInARow = 1;
      timer = setInterval(look, leaseMs / LOOKS_PER_LEASE);
    },
    stop: async () => {
      clearInterval(timer);
      await turn;
      if (isHeld)
        await removeWorker(beats, workerId).catch((error: unknown) =>
          log.warn({ err: error }, "the worker's row stays until it is swept"),
        );
      isHeld = false;
    },
  };
}
