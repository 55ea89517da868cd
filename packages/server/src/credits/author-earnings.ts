/**
 * What authors earn: a share of what others' runs of their prompts cost. The run's hold carries who earns and which share,
 * its capture books the earnings, and here they become credits. The arithmetic is `sql/author-earnings.sql`.
 */
import type { Database } from "../platform/database/database.ts";
import { collectSome, listUncollected } from "./author-earnings-store.ts";
import { changeEachAccount } from "./change-each-account.ts";

export interface Earner {
  readonly accountId: string;
  readonly sharePercent: number;
}

interface EarningRun {
  readonly accountId: string;
  readonly authorId: string;
  /** Of this prompt, in percent; null: `defaultShare`. */
  readonly share: number | null;
  readonly defaultShare: number;
}

/** Who earns of a run that is charged; null: nobody but the operator. Nobody earns of their own runs. */
export function earnerOf({ accountId, authorId, share, defaultShare }: EarningRun): Earner | null {
  const sharePercent = authorId === accountId ? 0 : (share ?? defaultShare);
  return sharePercent === 0 ? null : { accountId: authorId, sharePercent };
}

/** Writes what authors have earned to their balances and the journal. @throws as `changeEachAccount`. */
export function collectEarnings(db: Database, stop?: AbortSignal): Promise<void> {
  return changeEachAccount({
    what: "earnings",
    list: (after) => listUncollected(db, after),
    change: async (account) => {
      for (let bookings = 1; bookings > 0;) {
        if (stop?.aborted === true) return;
        bookings = await collectSome(db, account);
      }
    },
    stop,
  });
}
