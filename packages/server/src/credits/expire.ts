import type { Database } from "../platform/database/database.ts";
import { faultPoint } from "../platform/fault-injection.ts";
import { changeEachAccount } from "./change-each-account.ts";
import { expireOf, listExpired } from "./expire-store.ts";

/** Writes expired grants to the journal. @throws as `changeEachAccount`. */
export function expireCredits(db: Database, stop?: AbortSignal): Promise<void> {
  return changeEachAccount({
    what: "expired credits",
    list: async (after) => {
      const accounts = await listExpired(db, after);
      await faultPoint("expire.before_commit");
      return accounts;
    },
    change: (account) => expireOf(db, account),
    stop,
  });
}
