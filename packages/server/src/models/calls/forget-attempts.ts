import type { Database } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import type { Tick } from "../../platform/ticks.ts";
import { deleteOldSends } from "./provider-calls-store.ts";

/** Small enough that no lock is held for long. */
const BATCH = 5_000;

/** Without it the record of sends would grow by a row per call for ever. */
export function createSendsTick(db: Database, log: Log): Tick {
  return {
    name: "provider-calls-expiry",
    everySeconds: 3_600,
    run: async () => {
      let deleted = 0;
      let batch = BATCH;
      while (batch === BATCH) {
        batch = await deleteOldSends(db, BATCH);
        deleted += batch;
      }
      if (deleted > 0) log.info({ deleted }, "old records of provider calls were deleted");
    },
  };
}
