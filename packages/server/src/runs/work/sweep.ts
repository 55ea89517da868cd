/**
 * The sweep: gives back what dead workers had, lets go on what a clock that stepped back holds up, and ends what is past
 * its time. It has a turn and a connection of its own:
 * nothing that it meets delays a beat, and it waits neither for a place in the pool nor for anybody's lock.
 */
import type { Queryable } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import { DEADLINE_MINUTES_MAX } from "../create/create-run.ts";
import { endDueRuns, pullRunsBack, recoverRuns } from "./queue.ts";

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

/** No backlog of lost or of due runs keeps a sweep from what else it has to do; the rest comes with the next one. */
const ROUNDS_MAX = 10;

export function createSweep(options: SweepOptions): Sweep {
  const { upkeep, log, leaseMs } = options;
  let turn: Promise<void> | null = null;
  /** Kept over sweeps until all that is due has been looked at once: many locked runs never hide those behind them. */
  let passed: readonly string[] = [];
  let told: string | null = null;

  async function recover(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const { runIds, isFull } = await recoverRuns(upkeep, leaseMs);
      if (runIds.length > 0) options.onRequeued(runIds);
      if (!isFull) return;
    }
  }
  async function pullBack(): Promise<void> {
    const pulled = await pullRunsBack(upkeep, DEADLINE_MINUTES_MAX);
    if (pulled > 0)
      log.warn({ runs: pulled }, "runs waited for a time far ahead and may start now: the clock stepped back");
  }
  async function endAllDue(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const due = await endDueRuns(upkeep, passed);
      passed = due.isFull ? [...passed, ...due.passed] : [];
      if (due.failed.length > 0) options.onFailed(due.failed);
      if (due.fault !== null && due.fault !== told) {
        log.error({ fault: due.fault }, "a run past its time could not be ended; it is tried again at every sweep");
        told = due.fault;
      }
      if (!due.isFull) return;
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
