import type { BatchOfRun } from "@promptd/contract";
import type { Queryable } from "../../platform/database/database.ts";
import { firstIdOfMs, idTimeMs } from "../../platform/ids.ts";

export interface RequestOfRun {
  readonly accountId: string;
  /** Null: the run is older than the column. */
  readonly requestId: string | null;
}

/**
 * Most time between a request's headers and the id of what it creates: waiting for admission, a body of 32 MiB, and its
 * images.
 */
export const REQUEST_SPAN_MS = 10 * 60_000;

export const BATCHES_OF_REQUESTS = {
  name: "batches_of_requests",
  text: `select b.id, b.name, b.request_id
    from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[]) requested (account_id, request_id, from_id, to_id)
    cross join lateral (
      select id, name, request_id from batches
      where account_id = requested.account_id and id >= requested.from_id and id < requested.to_id
        and request_id = requested.request_id) b`,
} as const;

/**
 * The batches that these requests created, by request. One statement for a page of runs: it looks each request up by
 * primary key among its account's batches from around that time.
 */
export async function findBatchesOfRequests(
  db: Queryable,
  runs: readonly RequestOfRun[],
): Promise<ReadonlyMap<string, BatchOfRun>> {
  const accounts = new Map(
    runs.flatMap(({ accountId, requestId }) => (requestId === null ? [] : [[requestId, accountId] as const])),
  );
  if (accounts.size === 0) return new Map();
  const requests = [...accounts.keys()];
  const rows = await db.query<{ id: string; name: string | null; request_id: string }>(BATCHES_OF_REQUESTS, [
    [...accounts.values()],
    requests,
    requests.map((id) => firstIdOfMs(idTimeMs(id))),
    requests.map((id) => firstIdOfMs(idTimeMs(id) + REQUEST_SPAN_MS)),
  ]);
  return new Map(rows.map(({ id, name, request_id: requestId }) => [requestId, { batchId: id, name }]));
}

/** Adds to each row the batch that it belongs to. */
export async function withBatches<Row extends Pick<RequestOfRun, "requestId">>(
  db: Queryable,
  rows: readonly Row[],
  accountOf: (row: Row) => string,
): Promise<(Row & { readonly batch: BatchOfRun | null })[]> {
  const batches = await findBatchesOfRequests(
    db,
    rows.map((row) => ({ accountId: accountOf(row), requestId: row.requestId })),
  );
  return rows.map((row) => ({ ...row, batch: batches.get(row.requestId ?? "") ?? null }));
}
