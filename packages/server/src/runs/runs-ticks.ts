import type { Config } from "../platform/config/config.ts";
import type { Database } from "../platform/database/database.ts";
import type { Tick } from "../platform/periodic-work.ts";
import { pruneIdempotencyKeys } from "./create/idempotency.ts";
import { deleteOldPieces } from "./run-events-store.ts";
import { createUsesCount } from "./usage/count-uses.ts";
import { createUsageRollUp } from "./usage/roll-up.ts";
import { deleteOldUsage } from "./usage/usage-store.ts";

export interface RunsTicksOptions {
  readonly db: Database;
  readonly config: Pick<Config, "PROMPTD_USAGE_DAYS">;
}

/** Periodic work for runs, done by one process of the installation. */
export function runsTicks({ db, config }: RunsTicksOptions): Tick[] {
  return [
    { name: "uses", everySeconds: 5, run: createUsesCount(db) },
    { name: "idempotency", everySeconds: 600, run: (stop) => pruneIdempotencyKeys(db, stop) },
    { name: "run-pieces", everySeconds: 60, run: () => deleteOldPieces(db) },
    { name: "usage", everySeconds: 30, run: createUsageRollUp(db) },
    { name: "usage-prune", everySeconds: 3_600, run: () => deleteOldUsage(db, config.PROMPTD_USAGE_DAYS) },
  ];
}
