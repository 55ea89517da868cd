import { isConnectionLoss } from "../platform/database/errors.ts";
import { FIRST_ID } from "../platform/ids.ts";

interface Changes {
  readonly what: string;
  /** Accounts after this one, in the order of their ids. */
  readonly list: (after: string) => Promise<readonly { readonly account_id: string }[]>;
  readonly change: (account: string) => Promise<unknown>;
  readonly stop: AbortSignal | undefined;
}

/**
 * What the ledger writes by and by. No balance depends on when: reads count it already, and a hold writes it first. An
 * account that is locked or cannot be written is skipped until the next time.
 * @throws Error when accounts were skipped; a lost connection ends all of it.
 */
export async function changeEachAccount({ what, list, change, stop }: Changes): Promise<void> {
  const failures: unknown[] = [];
  let after: string | undefined = FIRST_ID;
  do {
    const accounts: readonly { readonly account_id: string }[] = await list(after);
    for (const { account_id: account } of accounts) {
      if (stop?.aborted === true) return;
      await change(account).catch((cause: unknown) => {
        if (isConnectionLoss(cause)) throw cause;
        failures.push(cause);
      });
    }
    after = accounts.at(-1)?.account_id;
  } while (after !== undefined);
  if (failures.length === 0) return;
  const accounts = failures.length === 1 ? "1 account" : `${failures.length} accounts`;
  throw new Error(`The ${what} of ${accounts} could not be written to the journal.`, { cause: failures[0] });
}
