/** What the ledger writes by and by. No balance depends on when: reads count it already, and a hold writes it first. */
import type { Database } from "../platform/database/database.ts";
import { isConnectionLoss } from "../platform/database/errors.ts";
import { faultPoint } from "../platform/fault-injection.ts";
import { collectOf, expireOf, listExpired, listUncollected } from "./expire-and-collect-store.ts";

const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** Writes expired grants to the journal. @throws as `changeEach`. */
export function expireCredits(db: Database, stop?: AbortSignal): Promise<void> {
  return changeEach({
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

/** Writes what authors have earned to their balances and the journal. @throws as `changeEach`. */
export function collectEarnings(db: Database, stop?: AbortSignal): Promise<void> {
  return changeEach({
    what: "earnings",
    list: (after) => listUncollected(db, after),
    change: async (account) => {
      for (let bookings = 1; bookings > 0;) {
        if (stop?.aborted === true) return;
        bookings = await collectOf(db, account);
      }
    },
    stop,
  });
}

interface Changes {
  readonly what: string;
  /** Accounts in the order of their ids. */
  readonly list: (after: string) => Promise<readonly string[]>;
  readonly change: (account: string) => Promise<unknown>;
  readonly stop: AbortSignal | undefined;
}

/**
 * An account that is locked or cannot be written is skipped until the next time.
 * @throws Error when accounts were skipped; a lost connection ends all of it.
 */
async function changeEach({ what, list, change, stop }: Changes): Promise<void> {
  const failures: unknown[] = [];
  let after: string | undefined = FIRST_ID;
  do {
    const accounts: readonly string[] = await list(after);
    for (const account of accounts) {
      if (stop?.aborted === true) return;
      await change(account).catch((cause: unknown) => {
        if (isConnectionLoss(cause)) throw cause;
        failures.push(cause);
      });
    }
    after = accounts.at(-1);
  } while (after !== undefined);
  if (failures.length === 0) return;
  const accounts = failures.length === 1 ? "1 account" : `${failures.length} accounts`;
  throw new Error(`The ${what} of ${accounts} could not be written to the journal.`, { cause: failures[0] });
}
