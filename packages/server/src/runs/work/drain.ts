import type { Queryable } from "../../platform/database/database.ts";
import type { Notifications } from "../../platform/database/notifications.ts";
import { settleWithin } from "../../platform/resilience/deadline.ts";
import { faultPoint } from "../../platform/fault-injection.ts";
import type { Log } from "../../platform/log.ts";
import { releaseUnknownRuns, stopClaiming } from "./claim.ts";
import type { Claimer } from "./claim-loop.ts";
import type { Lease } from "./lease.ts";
import type { Slots } from "./slots.ts";
import type { Sweep } from "./sweep.ts";

export interface DrainOptions {
  readonly upkeep: Queryable;
  readonly notifications: Notifications;
  readonly log: Log;
  readonly slots: Slots;
  readonly claimer: Claimer;
  readonly lease: Lease;
  readonly sweep: Sweep;
}

/** Time to release the remaining runs, and the same again to remove the worker's row. */
const SHUTDOWN_MS = 5_000;

/**
 * Claims nothing more, lets runs finish for up to `graceMs` from now, releases the rest, and removes the worker.
 * However slow the database is, this takes at most the grace period plus twice `SHUTDOWN_MS`.
 */
export async function drain(options: DrainOptions, graceMs: number): Promise<void> {
  const { slots, lease, sweep } = options;
  const stopped = refuseClaims(options);
  await settleWithin([stopped.then(() => untilAllEnded(options))], graceMs);
  slots.close();
  await settleWithin([stopped.then(() => releaseAll(options))], SHUTDOWN_MS);
  slots.dropAll();
  await settleWithin([...slots.ends, lease.stop(), sweep.untilIdle()], SHUTDOWN_MS);
}

async function refuseClaims({ upkeep, lease, log }: DrainOptions): Promise<void> {
  await faultPoint("drain.started");
  await stopClaiming(upkeep, lease.workerId).catch((error: unknown) =>
    log.warn({ err: error }, "the worker could not be marked as draining"),
  );
}

async function untilAllEnded({ claimer, slots }: DrainOptions): Promise<void> {
  await claimer.untilIdle(); // a claim in progress may still bring in runs
  while (slots.ends.length > 0) await Promise.all(slots.ends); // so may a create
}

/**
 * Releases whatever this worker holds in the database, including runs from a claim that arrives after its grace period.
 */
async function releaseAll({ upkeep, lease, notifications, slots, log }: DrainOptions): Promise<void> {
  try {
    const released = await releaseUnknownRuns(upkeep, lease.workerId, []);
    if (released === 0) return;
    log.info({ released, running: slots.size }, "runs that did not finish in time were released");
    notifications.notify("run_ready");
  } catch (error) {
    log.warn(
      { err: error },
      "runs that did not finish in time could not be released; they are swept when the lease expires",
    );
  }
}
