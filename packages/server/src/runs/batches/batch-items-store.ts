/** SQL for batch items: storing, starting, and refusing them. */
import type { BatchItem } from "@promptd/contract";
import type { Queryable, Tx } from "../../platform/database/database.ts";
import type { BatchOfAccount } from "./batches-store.ts";
import type { CheckedItem } from "./check-items.ts";

/** With more items or characters, a statement would use too much of its time limit on a slow line. */
const INSERT_ITEMS_MAX = 500;
const INSERT_UNITS_MAX = 1_000_000;

export async function insertItems(
  tx: Tx,
  { accountId, batchId }: BatchOfAccount,
  items: readonly CheckedItem[],
): Promise<void> {
  let part: { item: number; key: string | null; inputs: string }[] = [];
  let units = 0;
  const flush = async (): Promise<void> => {
    await tx.query(
      {
        name: "batch_items_insert",
        text: `insert into batch_items (batch_id, account_id, item, key, inputs)
          select $1, $2, d.item, d.key, d.inputs::json
          from unnest($3::int[], $4::text[], $5::text[]) d (item, key, inputs)`,
      },
      [batchId, accountId, part.map(({ item }) => item), part.map(({ key }) => key), part.map(({ inputs }) => inputs)],
    );
    [part, units] = [[], 0];
  };
  for (const [item, { key, inputs }] of items.entries()) {
    const text = JSON.stringify(inputs);
    if (part.length === INSERT_ITEMS_MAX || (part.length > 0 && units + text.length > INSERT_UNITS_MAX)) await flush();
    part.push({ item, key, inputs: text });
    units += text.length;
  }
  await flush();
}

/** The next items to start, in order, with the size of their inputs. */
export function listWaitingItems(
  db: Queryable,
  batchId: string,
  limit: number,
): Promise<{ readonly item: number; readonly bytes: number }[]> {
  const statement = {
    name: "batch_items_next",
    // The stored size, which is known without reading the value.
    text: `select item, coalesce(pg_column_size(inputs), 0) as bytes from batch_items
      where batch_id = $1 and run_id is null and ended_at is null order by item limit $2`,
  };
  return db.query(statement, [batchId, limit]);
}

/** Null: the item has a run or has ended. */
export async function readItemInputs(
  db: Queryable,
  batchId: string,
  item: number,
): Promise<BatchItem["inputs"] | null> {
  const [row] = await db.query<{ inputs: BatchItem["inputs"] | null }>(
    { name: "batch_item_inputs", text: "select inputs from batch_items where batch_id = $1 and item = $2" },
    [batchId, item],
  );
  return row?.inputs ?? null;
}

/** Call it inside the transaction that creates the run. */
export async function startItem(
  tx: Tx,
  { accountId, batchId }: BatchOfAccount,
  { item, runId }: { readonly item: number; readonly runId: string },
): Promise<void> {
  await tx.query({ name: "batch_item_start", text: "select batch_item_start($1, $2, $3, $4)" }, [
    accountId,
    batchId,
    item,
    runId,
  ]);
}

/** Raised by startItem: the item already has a run, or its batch was canceled. */
export const NOT_TO_START = "PD410";

export async function refuseItem(
  db: Queryable,
  { accountId, batchId }: BatchOfAccount,
  item: number,
  error: string,
): Promise<void> {
  await db.query("select batch_item_refuse($1, $2, $3, $4)", [accountId, batchId, item, error]);
}
