import type { Database } from "../../platform/database/database.ts";
import { isStatementTimeout } from "../../platform/database/errors.ts";
import { createAdaptiveBatch } from "../../platform/resilience/adaptive-batch.ts";
import { rollUpEvents } from "./usage-store.ts";

const BATCH_MAX = 5_000;
/** The calls of a run are recorded before it ends, except for a video that was given up. */
const SETTLE_SECONDS = 60;

/**
 * Moves ended runs into their daily sums. Each transaction moves all of its runs or none, so a process that dies
 * neither counts a run twice nor misses one. A batch that takes too long is halved.
 */
export function createUsageRollUp(db: Database): (stop?: AbortSignal) => Promise<void> {
  const batch = createAdaptiveBatch({ max: BATCH_MAX, isTooLarge: isStatementTimeout });
  return async (stop) => {
    for (let isMore = true; isMore;) {
      if (stop?.aborted === true) return;
      isMore = await batch.run(async (count) => (await rollUpEvents(db, count, SETTLE_SECONDS)) === count);
    }
  };
}
