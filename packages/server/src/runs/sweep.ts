/**
 * The sweep: gives back what dead workers had, lets go on what a clock that stepped back holds up, and ends what is past
 * its time. It has a turn and a connection of its own:
 * nothing that it meets delays a beat, and it waits neither for a place in the pool nor for anybody's lock.
 */
import { hostname } from "node:os";
import type { Queryable } from "../platform/database.ts";
import { fault } from "../platform/fault.ts";
import type { Log } from "../platform/log.ts";
import { DEADLINE_MINUTES_MAX } from "./create-run.ts";

export interface SweepOptions {
  readonly upkeep: Queryable;
  readonly log: Log;
  readonly leaseMs: number;
  readonly onRequeued: (runIds: readonly string[]) => void;
  readonly onFailed: (runIds: readonly string[]) => void;
}

export interface Sweep {
  /** Begins a sweep, unless one is under way. Only after good beats: whoever looks after an outage takes all for dead. */
  begin(): void;
  /** Resolves when no sweep is under way. */
  untilIdle(): Promise<void>;
}

interface Due {
  readonly failed: readonly string[];
  /** Looked at and not ended: locked by somebody, or broken. */
  readonly passed: readonly string[];
  readonly is_full: boolean;
  readonly fault: string | null;
}

const NOTHING_DUE: Due = { failed: [], passed: [], is_full: false, fault: null };
/** A backlog of due runs must not keep a sweep from the runs of dead workers; the rest comes with the next one. */
const ROUNDS_MAX = 10;

export function createSweep(options: SweepOptions): Sweep {
  const { upkeep, log, leaseMs } = options;
  let turn: Promise<void> | null = null;
  /** Kept over sweeps until all that is due has been looked at once: many locked runs never hide those behind them. */
  let passed: readonly string[] = [];
  let told: string | null = null;

  async function recover(): Promise<void> {
    const requeued = await recoverRuns(upkeep, leaseMs);
    if (requeued.length > 0) options.onRequeued(requeued);
  }
  async function pullBack(): Promise<void> {
    const pulled = await pullRunsBack(upkeep);
    if (pulled > 0)
      log.warn({ runs: pulled }, "runs waited for a time far ahead and may start now: the clock stepped back");
  }
  async function endAllDue(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const due = await endDueRuns(upkeep, passed);
      passed = due.is_full ? [...passed, ...due.passed] : [];
      if (due.failed.length > 0) options.onFailed(due.failed);
      if (due.fault !== null && due.fault !== told) {
        log.error({ fault: due.fault }, "a run past its time could not be ended; it is tried again at every sweep");
        told = due.fault;
      }
      if (!due.is_full) return;
    }
  }
  async function sweep(): Promise<void> {
    for (const step of [recover, pullBack, endAllDue]) {
      await step().catch((error: unknown) =>
        log.warn({ err: error }, "a sweep failed; it comes again after the next beat"),
      );
    }
    turn = null;
  }

  return {
    begin: () => void (turn ??= sweep()),
    untilIdle: async () => {
      await turn;
    },
  };
}

/** Gives the runs of lost workers back; one process does it at a time. @returns their ids. */
async function recoverRuns(upkeep: Queryable, leaseMs: number): Promise<string[]> {
  await fault("sweep.before_commit");
  const rows = await upkeep.query<{ id: string }>(
    "select run_recover as id from run_recover(make_interval(secs => $1::float8 / 1000))",
    [leaseMs],
  );
  return rows.map((row) => row.id);
}

/** @returns how many runs waited for a time that only a clock which stepped back explains. */
async function pullRunsBack(upkeep: Queryable): Promise<number> {
  const rows = await upkeep.query("select run_pull_back(make_interval(mins => $1))", [DEADLINE_MINUTES_MAX]);
  return rows.length;
}

/** Ends a batch of runs past their time, without those that were passed over before. */
async function endDueRuns(upkeep: Queryable, passed: readonly string[]): Promise<Due> {
  const [row] = await upkeep.query<Due>("select failed, passed, is_full, fault from run_end_due($1)", [passed]);
  return row ?? NOTHING_DUE;
}

const BOOT_LEASE_MS = 3_600_000;

/** Embedded database only: workers of this machine whose connection is gone are dead, without waiting for a lease. */
export async function recoverAtBoot(upkeep: Queryable): Promise<string[]> {
  await upkeep.query("select worker_boot_sweep($1)", [hostname()]);
  return recoverRuns(upkeep, BOOT_LEASE_MS);
}
