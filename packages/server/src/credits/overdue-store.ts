/**
 * What the ledger writes over time: expired grants and authors' earnings. No balance depends on when it is written:
 * reads already count it, and a hold writes it first.
 */
import { countOf } from "@promptd/contract";
import type { Database } from "../platform/database/database.ts";
import { isConnectionLoss } from "../platform/database/errors.ts";
import { faultPoint } from "../platform/fault-injection.ts";
import { FIRST_ID } from "../platform/ids.ts";

/**
 * Writes expired grants to the journal. The time is read in a subquery, because a volatile function is never an index
 * condition, and not in this process, whose dates have only milliseconds. @throws as `changeEachAccount` does.
 */
export function expireCredits(db: Database, stop?: AbortSignal): Promise<void> {
  const text = `select distinct account_id as id from credit_grants
    where remaining > 0 and expires_at <= (select promptd_now()) and account_id > $1 order by account_id limit 1000`;
  return changeEachAccount({
    what: "expired credits",
    list: async (after) => {
      const accounts = await db.query<OverdueAccount>(text, [after]);
      await faultPoint("expire.before_commit");
      return accounts;
    },
    change: (account) => db.query("select credit_expire($1)", [account]),
    stop,
  });
}

/** Writes what authors have earned to their balances and the journal. @throws as `changeEachAccount` does. */
export function collectEarnings(db: Database, stop?: AbortSignal): Promise<void> {
  const text = `select distinct author_id as id from credit_earnings
    where collected_at is null and author_id > $1 order by author_id limit 1000`;
  return changeEachAccount({
    what: "earnings",
    list: (after) => db.query<OverdueAccount>(text, [after]),
    change: async (account) => {
      for (let bookings = 1; bookings > 0;) {
        if (stop?.aborted === true) return;
        const [row] = await db.query<{ bookings: number }>("select credit_collect($1) as bookings", [account]);
        bookings = row?.bookings ?? 0;
      }
    },
    stop,
  });
}

interface OverdueAccount {
  readonly id: string;
}

interface Changes {
  readonly what: string;
  /** Lists accounts after this one, in the order of their ids. */
  readonly list: (after: string) => Promise<readonly OverdueAccount[]>;
  readonly change: (account: string) => Promise<unknown>;
  readonly stop: AbortSignal | undefined;
}

/**
 * Changes each account. Accounts that are locked or cannot be written are skipped until the next time.
 * @throws Error if accounts were skipped; a lost connection ends the whole pass.
 */
async function changeEachAccount({ what, list, change, stop }: Changes): Promise<void> {
  const failures: unknown[] = [];
  let after: string | undefined = FIRST_ID;
  do {
    const accounts: readonly OverdueAccount[] = await list(after);
    for (const { id } of accounts) {
      if (stop?.aborted === true) return;
      await change(id).catch((cause: unknown) => {
        if (isConnectionLoss(cause)) throw cause;
        failures.push(cause);
      });
    }
    after = accounts.at(-1)?.id;
  } while (after !== undefined);
  if (failures.length === 0) return;
  throw new Error(`The ${what} of ${countOf(failures.length, "account")} could not be written to the journal.`, {
    cause: failures[0],
  });
}
