import type { BatchResult, OutputItem } from "@promptd/contract";
import type { Queryable } from "../../platform/database/database.ts";
import type { BatchOfAccount } from "./batches-store.ts";

export interface ResultsPage {
  /** Index of the last item before the page; -1: start from the first one. */
  readonly after: number;
  readonly limit: number;
  /** Limit for the outputs; one item is always read. */
  readonly bytesMax: number;
}

/** Items that have ended, in order. */
export async function listResults(
  db: Queryable,
  { accountId, batchId }: BatchOfAccount,
  { after, limit, bytesMax }: ResultsPage,
): Promise<BatchResult[]> {
  const rows = await db.query<StoredResult>(
    {
      name: "batch_results",
      text: `with page as (
          select i.item, i.key, i.run_id, i.error, r.outputs_bytes
          from batch_items i left join runs r on r.account_id = $1 and r.id = i.run_id
          where i.batch_id = $2 and i.item > $3 and (i.ended_at is not null or r.finished_at is not null)
          order by i.item limit $4
        ), sized as (
          select page.*, row_number() over (order by item) as n,
            sum(coalesce(outputs_bytes, 0)) over (order by item) as bytes from page)
        select s.item as index, s.key, s.run_id as "runId", s.error, r.credits, r.outputs,
          case when r.status = 'succeeded' then 'succeeded' when r.fail_reason = 'canceled' then 'canceled' else 'failed' end
            as status
        from sized s left join runs r on r.account_id = $1 and r.id = s.run_id
        where s.n = 1 or s.bytes <= $5 order by s.item`,
    },
    [accountId, batchId, after, limit, bytesMax],
  );
  return rows.map(toResult);
}

interface StoredResult extends Omit<BatchResult, "outputs"> {
  /** Null: the item has no run. */
  readonly outputs: BatchResult["outputs"] | null;
  readonly error: string | null;
}

function toResult({ outputs, error, ...item }: StoredResult): BatchResult {
  const refusal: OutputItem[] = error === null ? [] : [{ type: "error", data: error }];
  return { ...item, outputs: outputs ?? refusal, credits: item.runId === null ? 0 : item.credits };
}
