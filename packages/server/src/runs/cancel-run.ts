import type { Database } from "../platform/database/database.ts";
import type { AccountLockQueue } from "./create/account-lock-queue.ts";
import { cancelRunRow, type CancelOutcome } from "./runs-store.ts";

export interface CancelOptions {
  readonly db: Database;
  readonly accountLocks: AccountLockQueue;
  /** A run was canceled: notify the worker that has it, and everyone waiting for it. */
  readonly onCanceled: (runId: string) => void;
}

/** Cancels a run, unless it is final. */
export async function cancelRun(
  accountId: string,
  runId: string,
  { db, accountLocks, onCanceled }: CancelOptions,
): Promise<CancelOutcome> {
  const outcome = await accountLocks.run(accountId, (limits) => cancelRunRow(db, accountId, runId, limits));
  if (outcome === "canceled_waiting" || outcome === "canceled_running") onCanceled(runId);
  return outcome;
}
