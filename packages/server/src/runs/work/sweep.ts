/**
 * The sweep: requeues the runs of dead workers, starts runs that are delayed only because a clock stepped back, and
 * fails runs past their deadline. It runs independently on its own connection: nothing it encounters delays a
 * heartbeat, and it waits neither for the pool nor for any lock.
 */
import { hostname } from "node:os";
import type { Queryable } from "../../platform/database/database.ts";
import { faultPoint } from "../../platform/fault-injection.ts";
import { systemClock } from "../../platform/clock.ts";
import { createGauge } from "../../platform/metrics/metrics.ts";
import { shareCalls } from "../../platform/resilience/share-calls.ts";
import { createFailureLog, type Log } from "../../platform/log.ts";
import { DEADLINE_MINUTES_MAX } from "../run-limits.ts";
import { runEnds } from "../run-metrics.ts";

export interface SweepOptions {
  readonly upkeep: Queryable;
  readonly log: Log;
  readonly leaseMs: number;
  readonly onRequeued: (runIds: readonly string[]) => void;
  readonly onFailed: (runIds: readonly string[]) => void;
}

export interface Sweep {
  /**
   * Starts a sweep unless one is in progress. Call it only after good heartbeats: right after an outage every worker
   * looks dead.
   */
  begin(): void;
  /** Resolves when no sweep is in progress. */
  untilIdle(): Promise<void>;
}

/** No backlog of lost or due runs keeps a sweep from its other steps; the rest is left to the next sweep. */
const ROUNDS_MAX = 10;
const RECOVERED_AT_ONCE = 500;
const BOOT_LEASE_MS = 3_600_000;

/** In Unix time; null: none yet. */
let sweptAt: number | null = null;
createGauge(
  {
    name: "promptd_sweep_last_success_timestamp_seconds",
    help: "When the worker of this process last swept the runs of dead workers and overdue runs, in Unix time.",
  },
  [],
).from(() => (sweptAt === null ? [] : [[[], sweptAt]]));

export function createSweep(options: SweepOptions): Sweep {
  const { upkeep, log, leaseMs } = options;
  /**
   * Carried over between sweeps until everything due has been tried once, so that many locked runs never hide the ones
   * behind them.
   */
  let skipped: readonly string[] = [];
  let loggedFault: string | null = null;
  const failures = createFailureLog(
    log,
    "sweeps are failing; each heartbeat starts another one",
    "sweeps succeed again",
  );

  async function recover(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const runIds = await recoverRuns(upkeep, leaseMs);
      if (runIds.length > 0) options.onRequeued(runIds);
      if (runIds.length < RECOVERED_AT_ONCE) return;
    }
  }
  async function reschedule(): Promise<void> {
    const rescheduled = await upkeep.query("select run_reschedule(make_interval(mins => $1))", [DEADLINE_MINUTES_MAX]);
    if (rescheduled.length > 0)
      log.warn(
        { runs: rescheduled.length },
        "the clock stepped back: runs that were scheduled far ahead may start now",
      );
  }
  async function failAllDue(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const due = await failDueRuns(upkeep, skipped);
      skipped = due.isFull ? [...skipped, ...due.skipped] : [];
      if (due.failed.length > 0) {
        runEnds.add(["failed", "overdue"], due.failed.length);
        options.onFailed(due.failed);
      }
      if (due.fault !== null && due.fault !== loggedFault) {
        log.error({ fault: due.fault }, "a run past its deadline could not be ended; every sweep retries it");
        loggedFault = due.fault;
      }
      if (!due.isFull) return;
    }
  }
  const sweep = shareCalls(async () => {
    let hasFailed = false;
    for (const step of [recover, reschedule, failAllDue]) {
      await step().catch((error: unknown) => {
        hasFailed = true;
        failures.failed(error);
      });
    }
    if (hasFailed) return;
    failures.worked();
    sweptAt = systemClock.nowMs() / 1_000;
  });

  return { begin: () => void sweep(), untilIdle: sweep.untilIdle };
}

/** Requeues a batch of runs of dead workers. Only one process does so at a time. */
async function recoverRuns(upkeep: Queryable, leaseMs: number): Promise<readonly string[]> {
  await faultPoint("sweep.before_commit");
  const rows = await upkeep.query<{ id: string }>(
    "select run_recover as id from run_recover(make_interval(secs => $1::float8 / 1000), $2)",
    [leaseMs, RECOVERED_AT_ONCE],
  );
  return rows.map((row) => row.id);
}

/**
 * Embedded database only: workers of this machine whose connection is gone are dead, without waiting for the lease.
 * @returns a first batch of their runs; later sweeps return the rest.
 */
export async function recoverAtBoot(upkeep: Queryable): Promise<readonly string[]> {
  await upkeep.query("select worker_boot_sweep($1)", [hostname()]);
  return recoverRuns(upkeep, BOOT_LEASE_MS);
}

interface DueRuns {
  readonly failed: readonly string[];
  /** Tried but not ended: locked by another transaction, or broken. */
  readonly skipped: readonly string[];
  readonly isFull: boolean;
  /** Why one of them cannot be ended. */
  readonly fault: string | null;
}

/** Ends a batch of runs past their deadline, except the ones skipped before. Only one process does so at a time. */
async function failDueRuns(upkeep: Queryable, skipped: readonly string[]): Promise<DueRuns> {
  const [row] = await upkeep.query<DueRuns>(
    `select failed, skipped, is_full as "isFull", fault from run_fail_due($1)`,
    [skipped],
  );
  return row ?? { failed: [], skipped: [], isFull: false, fault: null };
}
