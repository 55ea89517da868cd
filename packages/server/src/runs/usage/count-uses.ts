import type { Database } from "../../platform/database/database.ts";
import { isStatementTimeout } from "../../platform/database/errors.ts";
import { addUses } from "../../prompts/index.ts";
import { takeUncountedUses } from "./uses-store.ts";

/**
 * A run's id is generated before its insert, so the run may commit this much later, on a process whose clock is
 * slightly behind.
 */
const SETTLE_MS = 15_000;
/**
 * The first statement counts the runs of this much time. The span grows after each success and shrinks after a timeout.
 */
const SPAN_MS = 3_600_000;

/**
 * Adds the runs created since the last call to the `uses` of their prompts. Counting them here instead of in the create
 * transaction keeps a popular prompt's row from becoming a hot spot. A backlog of any size is counted in parts, because
 * a backlog too large for one statement would otherwise only grow.
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
        growth = 1; // for the rest of this tick, or every other part would be too large again
      }
    }
  };
}

/** @returns true if nothing is left that is old enough. */
function countPart(db: Database, spanMs: number): Promise<boolean> {
  return db.tx(async (tx) => {
    const { uses, isAll } = await takeUncountedUses(tx, { settleMs: SETTLE_MS, spanMs });
    if (uses.size > 0) await addUses(tx, uses);
    return isAll;
  });
}
