import { cancelRun, type CancelOptions } from "../cancel-run.ts";
import { collectBatch, listOpenRuns, type BatchOfAccount } from "./batches-store.ts";

/**
 * Cancels the started runs of a canceled batch, each like a single run. If this is interrupted, a later pass finishes
 * it.
 */
export async function cancelRunsOf(batch: BatchOfAccount, options: CancelOptions): Promise<void> {
  for (const runId of await listOpenRuns(options.db, batch)) await cancelRun(batch.accountId, runId, options);
  await collectBatch(options.db, batch);
}
