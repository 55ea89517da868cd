/** What happens to the batches of a deleted account, and what its export contains about them. */
import type { Database, Queryable } from "../../platform/database/database.ts";
import { NOT_PAUSED } from "./batches-store.ts";

/** From then on no item gets a run. */
async function cancelBatches(db: Queryable, accountId: string): Promise<void> {
  await db.query(
    `update batches set status = 'canceled', ${NOT_PAUSED}
     where (account_id, id) in (
       select account_id, id from batches where account_id = $1 and status in ('running', 'paused') order by id for update)`,
    [accountId],
  );
}

/** Deletes batches with their items, one batch at a time: a batch has at most ten thousand items. */
async function deleteBatches(db: Database, accountId: string): Promise<void> {
  const batches = await db.query<{ id: string }>("select id from batches where account_id = $1", [accountId]);
  for (const { id } of batches) {
    await db.tx(async (tx) => {
      await tx.query("delete from batch_items where batch_id = $1", [id]);
      await tx.query("delete from batches where account_id = $1 and id = $2", [accountId, id]);
    });
  }
}

/** Not an interface: the build writes it out where its name is not known. */
type ExportedItem = { readonly batchId: string; readonly index: number };

/**
 * Items with the stored data of their batch, by batch and index; at most `bytesMax` bytes, unless the first item alone
 * is larger.
 */
function listItemsOf(
  db: Queryable,
  accountId: string,
  { after, limit, bytesMax }: { readonly after: ExportedItem; readonly limit: number; readonly bytesMax: number },
): Promise<ExportedItem[]> {
  return db.query(
    `with page as (
       select i.batch_id, i.item, coalesce(octet_length(i.inputs::text), 0) as bytes
       from batches b join batch_items i on i.batch_id = b.id
       where b.account_id = $1 and (i.batch_id, i.item) > ($2, $3) order by i.batch_id, i.item limit $4
     ), sized as (
       select page.*, sum(bytes) over (order by batch_id, item) as sum, row_number() over (order by batch_id, item) as n
       from page
     )
     select b.id as "batchId", i.item as index, b.name, b.prompt_version_id as "promptVersionId", b.status as "batchStatus",
       b.run_options as "runOptions", i.key, i.run_id as "runId", i.inputs, i.error, b.created_at as "createdAt",
       i.ended_at as "endedAt"
     from sized s join batch_items i on i.batch_id = s.batch_id and i.item = s.item join batches b
       on b.account_id = $1 and b.id = s.batch_id
     where s.sum <= $5 or s.n = 1 order by s.batch_id, s.item`,
    [accountId, after.batchId, after.index, limit, bytesMax],
  );
}

/** Exported as one object: only the deletion and the export of an account use them. */
export const batchesOfAccount = { cancelBatches, deleteBatches, listItemsOf } as const;
