import type { OutputItem } from "@promptd/contract";
import type { StoredFile } from "../../files/index.ts";
import type { StepUsage } from "../../models/index.ts";
import type { Database, Queryable } from "../../platform/database/database.ts";
import { OUTAGE_POLICY } from "../../platform/database/errors.ts";
import { retry } from "../../platform/resilience/retry.ts";
import type { ClaimedRun } from "./claim.ts";

/** One output item of a run, from the model's response to the database row. */
export interface RunItem {
  readonly step: number;
  readonly item: number;
  /** Has type `error` if the model failed, or if its output cannot be published. */
  readonly output: OutputItem;
  /** Null: it failed, and costs nothing. */
  readonly usage: StepUsage | null;
  readonly file: StoredFile | null;
  /** For an error: the cause for the operator. `output` has the message for the caller. */
  readonly cause?: string;
}

/** A delivered item: JSON-safe, so that a later attempt can read it instead of paying again. */
export type DeliveredItem = RunItem & { readonly usage: StepUsage };

export function isDelivered(item: RunItem): item is DeliveredItem {
  return item.usage !== null;
}

export interface ItemFault {
  readonly cause: string;
  readonly message: string;
}

export function errorItem(step: number, item: number, { cause, message }: ItemFault): RunItem {
  return { step, item, output: { type: "error", data: message }, usage: null, file: null, cause };
}

/** Items that an earlier attempt of this run delivered. */
export async function readDelivered(db: Database, run: ClaimedRun): Promise<DeliveredItem[]> {
  const rows = await db.pipelined<{ result: DeliveredItem }>(
    {
      name: "run_steps_get",
      text: "select result from run_steps where account_id = $1 and run_id = $2 order by step, item",
    },
    [run.accountId, run.runId],
  );
  return rows.map((row) => row.result);
}

/**
 * Saves a delivered item, fenced by (worker, attempt): a worker that lost its lease saves nothing. The lock makes the
 * run's end wait until the item is visible and can be deleted with the others. It is the only lock held here while
 * waiting for another, and the run's end takes it first as well. An outage is waited out, because an unsaved item would
 * be requested from its model, and paid for, again.
 */
export async function saveDelivered(
  db: Queryable,
  run: ClaimedRun,
  item: DeliveredItem,
  signal: AbortSignal,
): Promise<void> {
  const statement = `insert into run_steps (account_id, run_id, step, item, result)
     select r.account_id, r.id, $5, $6, $7 from runs r
     where r.account_id = $1 and r.id = $2 and r.attempt = $3 and r.worker = $4 for key share of r
     on conflict do nothing`;
  const values = [run.accountId, run.runId, run.attempt, run.workerId, item.step, item.item, JSON.stringify(item)];
  await retry(() => db.query(statement, values), { ...OUTAGE_POLICY, signal });
}
