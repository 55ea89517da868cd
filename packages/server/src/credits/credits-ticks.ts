import type { Database } from "../platform/database/database.ts";
import type { Log } from "../platform/log.ts";
import type { Tick } from "../platform/periodic-work.ts";
import { collectEarnings, expireCredits } from "./overdue-store.ts";
import { createAudit } from "./reconcile.ts";

/** Periodic work for the ledger, done by one process of the installation. */
export function creditsTicks({ db, log }: { readonly db: Database; readonly log: Log }): Tick[] {
  return [
    { name: "credit-expiry", everySeconds: 60, run: (stop) => expireCredits(db, stop) },
    { name: "author-earnings", everySeconds: 10, run: (stop) => collectEarnings(db, stop) },
    { name: "ledger-audit", everySeconds: 60, run: createAudit(db, log) },
  ];
}
