import type { Database, Queryable } from "../../platform/database/database.ts";
import { OUTAGE_POLICY } from "../../platform/database/errors.ts";
import { retry } from "../../platform/resilience/retry.ts";
import type { DeliveredItem } from "./execute-run.ts";
import type { ClaimedRun } from "./queue.ts";

/** Items that an earlier attempt of this run delivered. */
export async function readDelivered(db: Database, run: ClaimedRun): Promise<DeliveredItem[]> {
  const rows = await db.named<{ result: DeliveredItem }>(
    "run_steps_get",
    "select result from run_steps where account_id = $1 and run_id = $2 order by step, item",
    [run.accountId, run.runId],
  );
  return rows.map((row) => row.result);
}

/**
 * Fenced by (worker, attempt): a worker that lost its lease saves nothing. The lock makes whoever ends the run wait until
 * the item can be seen, and be deleted with the others; it is the only one that is held here while another is waited for,
 * and who ends the run takes it first as well. An outage is waited for, since what is not saved is asked of its model,
 * and paid, once more.
 */
export async function saveDelivered(
  db: Queryable,
  { workerId, signal }: { readonly workerId: string; readonly signal: AbortSignal },
  run: ClaimedRun,
  item: DeliveredItem,
): Promise<void> {
  const statement = `insert into run_steps (account_id, run_id, step, item, result)
     select r.account_id, r.id, $5, $6, $7 from runs r
     where r.account_id = $1 and r.id = $2 and r.attempt = $3 and r.worker = $4 for key share of r
     on conflict do nothing`;
  const values = [run.accountId, run.runId, run.attempt, workerId, item.step, item.item, JSON.stringify(item)];
  await retry(() => db.query(statement, values), { ...OUTAGE_POLICY, signal });
}
