import type { Database } from "../../platform/database/database.ts";
import { isConnectionLoss, isStatementTimeout } from "../../platform/database/errors.ts";
import { createAdaptiveBatch } from "../../platform/resilience/adaptive-batch.ts";
import { createFailureLog, type Log } from "../../platform/log.ts";
import { CIRCLE_START, claimRuns, LeaseLost, releaseUnknownRuns, type ClaimedRun } from "./claim.ts";
import type { Lease } from "./lease.ts";

const CLAIM_MAX = 200;
/** Of the 5 s that a claim may take: a claim of twice as many runs is then far from too much. */
const QUICK_MS = 1_000;
/** A statement whose connection was lost has ended, one way or the other, this long after. */
const SUSPECT_MS = 15_000;
/** This worker lives, so no sweep would ever free runs that it has and does not know of, whatever made it so. */
const CHECK_EVERY_MS = 30_000;

export interface ClaimerOptions {
  readonly db: Database;
  readonly log: Log;
  readonly lease: Lease;
  readonly leaseMs: number;
  readonly free: () => number;
  readonly begin: (run: ClaimedRun) => void;
  /** All runs that are being worked on, or are about to be. */
  readonly known: () => readonly Pick<ClaimedRun, "runId" | "attempt">[];
}

export interface Claimer {
  /** There may be something to claim, and room for it. */
  readonly wake: () => void;
  /** A run of this worker has ended: its slot is free, and room under limits. Claims only if something waits for that. */
  readonly onFreed: () => void;
  /** Nothing waits here that a new run would pass, as far as the last claim knows, and no claim is under way. */
  readonly isQuiet: boolean;
  /** Runs may be this worker's that it does not know of: an answer was lost. */
  readonly suspect: () => void;
  /** Resolves when no claim is under way. */
  untilIdle(): Promise<void>;
}

/**
 * Claims until the slots are full or a whole circle over the waiting accounts brought nothing more. One claim is under
 * way at a time; a wake during it makes it start over once more.
 */
export function createClaimer(options: ClaimerOptions): Claimer {
  let claiming: Promise<void> | null = null;
  let isWokenAgain = false;
  let cursor = CIRCLE_START;
  /**
   * Runs waited that the last claim did not take, or it is not known. What begins to wait later is notified to every worker,
   * so while it is false no end of a run needs a claim: without load that was every second claim.
   */
  let mayBeWaiting = true;
  /** During the claim that is under way, which may not have seen the room. */
  let hasFreed = false;
  /**
   * A claim that was too much for the database or the line to it takes half as many runs the next time, down to one:
   * the same runs asked for again would stop the queue. More again after each that was quick.
   */
  const batch = createAdaptiveBatch({
    max: CLAIM_MAX,
    quickMs: QUICK_MS,
    isTooLarge: (error) => isStatementTimeout(error) || isConnectionLoss(error),
  });
  const unknown = createUnknownRuns(options);
  const fails = "runs cannot be claimed; retrying every second";
  const failures = createFailureLog(options.log, fails, "runs can be claimed again");

  async function claimAll(): Promise<void> {
    mayBeWaiting = true;
    await unknown.release();
    let fromStart = cursor === CIRCLE_START;
    while (options.free() > 0 && options.lease.isHeld) {
      const runsMax = Math.min(options.free(), batch.size);
      const { workerId } = options.lease;
      const lease = { workerId, leaseMs: options.leaseMs };
      const claim = () => claimRuns(options.db, lease, { runsMax, after: cursor });
      const { runs, next, isMoreWaiting } = await batch.run(claim, runsMax);
      failures.worked();
      // The lease was lost meanwhile: these runs belong to an id that is no longer ours, and are swept with its others.
      if (options.lease.workerId !== workerId) return;
      for (const run of runs) options.begin(run);
      cursor = next ?? CIRCLE_START;
      if (next !== null) continue;
      if (fromStart && runs.length < runsMax) {
        mayBeWaiting = isMoreWaiting;
        return;
      }
      fromStart = true;
    }
  }
  async function claimUntilQuiet(): Promise<void> {
    do {
      isWokenAgain = false;
      hasFreed = false;
      await claimAll().catch((error: unknown) => {
        if (isConnectionLoss(error)) unknown.suspect();
        if (!(error instanceof LeaseLost)) failures.failed(error);
      });
    } while (isWokenAgain || (hasFreed && mayBeWaiting));
    claiming = null;
  }
  function wake(): void {
    if (claiming === null) claiming = claimUntilQuiet();
    else isWokenAgain = true;
  }
  return {
    wake,
    suspect: unknown.suspect,
    get isQuiet() {
      return claiming === null && !mayBeWaiting;
    },
    onFreed: () => {
      hasFreed = true;
      if (claiming === null && mayBeWaiting) wake();
    },
    untilIdle: async () => {
      await claiming;
    },
  };
}

/**
 * Runs that this worker has and does not know of, after an answer that was lost. They are looked for before anything else
 * is claimed, until a look has succeeded that was later than the statement can have been under way.
 */
function createUnknownRuns({ db, log, lease, known }: Pick<ClaimerOptions, "db" | "log" | "lease" | "known">) {
  let suspectUntilMs = 0;
  let checkedMs = performance.now();
  return {
    suspect: (): void => {
      suspectUntilMs = performance.now() + SUSPECT_MS;
    },
    release: async (): Promise<void> => {
      const nowMs = performance.now();
      const isDue = checkedMs < suspectUntilMs || nowMs - checkedMs >= CHECK_EVERY_MS;
      if (!isDue || !lease.isHeld) return;
      const runs = await releaseUnknownRuns(db, lease.workerId, known());
      checkedMs = nowMs;
      if (runs > 0) log.warn({ runs }, "runs that this worker had claimed without knowing it were released");
    },
  };
}
