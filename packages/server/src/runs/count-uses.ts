import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database.ts";
import { firstIdOfMs } from "../platform/ids.ts";
import { addUses } from "../prompts/index.ts";
import { takeUncountedUses } from "./runs-store.ts";

/** A run's id is made before its insert: it may commit this much later, on a process whose clock is a little behind. */
const SETTLE_MS = 15_000;

/**
 * Adds the runs created since the last call to the `uses` of their prompts. Counting here and not in the create
 * transaction keeps a popular prompt from becoming one hot row.
 */
export async function countUses(db: Database, clock: Clock): Promise<void> {
  await db.tx(async (tx) => {
    const uses = await takeUncountedUses(tx, firstIdOfMs(clock.nowMs() - SETTLE_MS));
    if (uses.size > 0) await addUses(tx, uses);
  });
}
