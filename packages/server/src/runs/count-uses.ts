import type { Database } from "../platform/database/database.ts";
import { isStatementTimeout } from "../platform/database/errors.ts";
import { addUses } from "../prompts/index.ts";
import { takeUncountedUses } from "./runs-store.ts";

/** A run's id is made before its insert: it may commit this much later, on a process whose clock is a little behind. */
const SETTLE_MS = 15_000;
/** One statement counts the runs of so much time at first; more after each that succeeded, less after one that timed out. */
const SPAN_MS = 3_600_000;

/**
 * Adds the runs created since the last call to the `uses` of their prompts. Counting here and not in the create
 * transaction keeps a popular prompt from becoming one hot row. A backlog is taken in parts, however much it is: what
 * is too much for one statement would otherwise only grow.
 */
export function createUsesCount(db: Database): (stop?: AbortSignal) => Promise<void> {
  let spanMs = SPAN_MS;
  return async (stop) => {
    let growth = 2;
    for (let isAll = false; !isAll;) {
      if (stop?.aborted === true) return;
      try {
        isAll = await countPart(db, spanMs);
        if (!isAll) spanMs *= growth;
      } catch (error) {
        if (!isStatementTimeout(error) || spanMs === 1) throw error;
        spanMs = Math.ceil(spanMs / 2);
        growth = 1; // for the rest of this tick: else every other part would be too much again
      }
    }
  };
}

/** @returns true when nothing is left that is old enough. */
function countPart(db: Database, spanMs: number): Promise<boolean> {
  return db.tx(async (tx) => {
    const { uses, isAll } = await takeUncountedUses(tx, { settleMs: SETTLE_MS, spanMs });
    if (uses.size > 0) await addUses(tx, uses);
    return isAll;
  });
}
