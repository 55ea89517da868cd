import type { Database } from "../../platform/database/database.ts";
import { isConnectionLoss, isStatementTimeout } from "../../platform/database/errors.ts";
import { createAdaptiveBatch } from "../../platform/resilience/adaptive-batch.ts";
import { createFailureLog, type Log } from "../../platform/log.ts";
import { CIRCLE_START, claimRuns, LeaseLost, releaseUnknownRuns, type ClaimedRun } from "./claim.ts";
import type { Lease } from "./lease.ts";

const CLAIM_MAX = 200;
/** Out of the 5 s that a claim may take: below this, a claim of twice as many runs is still well within the limit. */
const QUICK_MS = 1_000;
/** A statement whose connection was lost has ended one way or the other by this time. */
const SUSPECT_MS = 15_000;
/** This worker is alive, so no sweep would ever free runs that it holds without knowing it, whatever the cause. */
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
  /** A run of this worker ended: its slot is free, as is its room under limits. Claims only if runs wait for that. */
  readonly onFreed: () => void;
  /** As far as the last claim knows, no queued run would be overtaken by a new one, and no claim is in progress. */
  readonly isQuiet: boolean;
  /** A response was lost, so this worker may hold runs that it does not know of. */
  readonly suspect: () => void;
  /** Resolves when no claim is in progress. */
  untilIdle(): Promise<void>;
}

/**
 * Claims until the slots are full, or until a full round over the waiting accounts brings nothing more. Only one claim
 * is in progress at a time; a wake during a claim makes it start over once more.
 */
export function createClaimer(options: ClaimerOptions): Claimer {
  let claiming: Promise<void> | null = null;
  let isWokenAgain = false;
  let cursor = CIRCLE_START;
  /**
   * True if the last claim left runs waiting, or if that is unknown. Runs that start waiting later are announced to
   * every worker, so while this is false the end of a run needs no claim. Under light load, every other claim used to
   * be such an unneeded claim.
   */
  let mayBeWaiting = true;
  /** Whether a slot was freed during the current claim, which may not have seen the room. */
  let hasFreed = false;
  /**
   * If a claim is too large for the database or the connection to it, the next claim takes half as many runs, down to
   * one: repeating the same claim would stop the queue. After each quick claim the batch grows again.
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
      // The lease was lost meanwhile: these runs belong to the old id, and are swept with its other runs.
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
 * Finds runs that this worker holds without knowing it, after a lost response. It looks for them before it claims
 * anything else, until a check has succeeded that came later than the lost statement can have been in progress.
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
