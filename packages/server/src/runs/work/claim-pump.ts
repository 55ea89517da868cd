import type { Database } from "../../platform/database/database.ts";
import { isConnectionLoss, isStatementTimeout } from "../../platform/database/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { Lease } from "./lease.ts";
import { CIRCLE_START, claimRuns, giveUnknownRunsBack, LeaseLost, type Claim, type ClaimedRun } from "./queue.ts";

const CLAIM_MAX = 200;
/** Of the 5 s that a claim may take: a claim of twice as many runs is then far from too much. */
const QUICK_MS = 1_000;
/** A statement whose connection was lost has ended, one way or the other, by this long after. */
const SUSPECT_MS = 15_000;
/** This worker lives, so no sweep would ever free what it has and does not know of, whatever made it so. */
const LOOK_EVERY_MS = 30_000;

export interface PumpOptions {
  readonly db: Database;
  readonly log: Log;
  readonly lease: Lease;
  readonly leaseMs: number;
  readonly free: () => number;
  readonly begin: (run: ClaimedRun) => void;
  /** All runs that are being worked on. */
  readonly known: () => readonly ClaimedRun[];
}

export interface Pump {
  readonly pump: () => void;
  /** Resolves when no claim is under way. */
  untilIdle(): Promise<void>;
}

/**
 * Claims until the slots are full or a whole circle over the waiting accounts brought nothing more. One claim is under
 * way at a time; a call during it makes it look once more.
 */
export function createPump(options: PumpOptions): Pump {
  let turn: Promise<void> | null = null;
  let again = false;
  let cursor = CIRCLE_START;
  let claimMax = CLAIM_MAX;
  let suspectUntilMs = 0;
  let lookedMs = performance.now();

  /**
   * A claim whose answer was lost may have taken runs that no one here knows of. They are looked for before anything else
   * is claimed, until a look has succeeded that was later than the claim can have been under way.
   */
  async function giveUnknownBack(): Promise<void> {
    const nowMs = performance.now();
    const isDue = lookedMs < suspectUntilMs || nowMs - lookedMs >= LOOK_EVERY_MS;
    if (!isDue || !options.lease.isHeld) return;
    const given = await giveUnknownRunsBack(options.db, options.lease.workerId, options.known());
    lookedMs = nowMs;
    if (given > 0) options.log.warn({ runs: given }, "runs that nobody here was working on are queued again");
  }
  /**
   * A claim that was too much for the database or the line to it takes half as many runs the next time, down to one:
   * the same runs asked for again would stop the queue. More again after each that was quick.
   */
  async function claim(runsMax: number): Promise<Claim> {
    const sentMs = performance.now();
    const lease = { workerId: options.lease.workerId, leaseMs: options.leaseMs };
    try {
      const claimed = await claimRuns(options.db, lease, { runsMax, after: cursor });
      if (performance.now() - sentMs < QUICK_MS) claimMax = Math.min(2 * claimMax, CLAIM_MAX);
      return claimed;
    } catch (error) {
      if (isStatementTimeout(error) || isConnectionLoss(error)) claimMax = Math.ceil(runsMax / 2);
      throw error;
    }
  }
  async function claimAll(): Promise<void> {
    await giveUnknownBack();
    let fromStart = cursor === CIRCLE_START;
    while (options.free() > 0 && options.lease.isHeld) {
      const runsMax = Math.min(options.free(), claimMax);
      const { workerId } = options.lease;
      const { runs, next } = await claim(runsMax);
      // The lease was lost meanwhile: these runs belong to a worker that no longer is, and are swept like its others.
      if (options.lease.workerId !== workerId) return;
      for (const run of runs) options.begin(run);
      cursor = next ?? CIRCLE_START;
      if (next !== null) continue;
      if (fromStart && runs.length < runsMax) return;
      fromStart = true;
    }
  }
  async function claimUntilQuiet(): Promise<void> {
    do {
      again = false;
      await claimAll().catch((error: unknown) => {
        if (isConnectionLoss(error)) suspectUntilMs = performance.now() + SUSPECT_MS;
        if (!(error instanceof LeaseLost))
          options.log.warn({ err: error }, "runs could not be claimed; the next try is in a second");
      });
    } while (again);
    turn = null;
  }
  return {
    pump: () => {
      if (turn === null) turn = claimUntilQuiet();
      else again = true;
    },
    untilIdle: async () => {
      await turn;
    },
  };
}
