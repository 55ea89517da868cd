/** SQL for provider calls (migration 0005). */
import { queryAnswers } from "../../platform/database/answers.ts";
import type { Database, Queryable } from "../../platform/database/database.ts";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { JsonValue } from "../../platform/json.ts";
import { ATTEMPTS_MAX } from "./attempt-limits.ts";
import type { Usage } from "../providers/failure.ts";

export interface CallKey {
  readonly runId: string;
  readonly step: number;
  readonly item: number;
  readonly callNumber: number;
}

export type CallStart =
  /** The row is written: call the provider now. `isFollowed`: somebody follows the run's text as it is written. */
  | { readonly kind: "begun"; readonly key: CallKey; readonly isFollowed: boolean }
  /** An earlier attempt started a job that has not failed: poll it instead of paying again. */
  | { readonly kind: "started"; readonly key: CallKey; readonly model: string; readonly operation: JsonValue }
  | { readonly kind: "used-up" };

/** A provider call about to be made. */
export interface CallToCount {
  /** A call that is counted again with the same id, because a response was lost, counts once. */
  readonly id: string;
  readonly request: {
    readonly accountId: string;
    readonly runId: string;
    readonly attempt: number;
    readonly step: number;
    readonly item: number;
  };
  readonly entry: Pick<CatalogueEntry, "model" | "provider" | "providerModel">;
}

interface BeginRow {
  calls: number;
  begun: number | null;
  open: number | null;
  open_model: string;
  operation: JsonValue;
  followed: boolean;
}

/**
 * Counts calls before they are made, many in one statement and one commit. No two may be for the same item.
 * @returns results in the same order; null if another attempt took the number at the same moment: count again.
 */
export async function countCalls(db: Queryable, calls: readonly CallToCount[]): Promise<(CallStart | null)[]> {
  const column = (read: (call: CallToCount) => unknown): unknown[] => calls.map(read);
  const rows = await db.query<BeginRow>(
    {
      name: "provider_calls_begin",
      text: `select calls, begun, open, open_model, operation, followed
        from provider_calls_begin($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    },
    [
      column(({ request }) => request.runId),
      column(({ request }) => request.step),
      column(({ request }) => request.item),
      column(({ request }) => request.accountId),
      column(({ request }) => request.attempt),
      column(({ entry }) => entry.model),
      column(({ entry }) => entry.provider),
      column(({ entry }) => entry.providerModel),
      column(({ id }) => id),
      ATTEMPTS_MAX,
    ],
  );
  return calls.map(({ request }, index) => startOf(request, rows[index]));
}

function startOf(request: CallToCount["request"], row: BeginRow | undefined): CallStart | null {
  if (row === undefined) throw new Error("The database counted fewer calls than it was asked to count.");
  const key = (callNumber: number): CallKey => ({
    runId: request.runId,
    step: request.step,
    item: request.item,
    callNumber,
  });
  if (row.begun !== null) return { kind: "begun", key: key(row.begun), isFollowed: row.followed };
  if (row.open !== null)
    return { kind: "started", key: key(row.open), model: row.open_model, operation: row.operation };
  return row.calls >= ATTEMPTS_MAX ? { kind: "used-up" } : null;
}

/** Uncounts a call that was never made: no request reached the provider, so nothing can be billed. */
export async function withdrawCall(db: Queryable, key: CallKey): Promise<void> {
  await db.query(
    "delete from provider_calls where run_id = $1 and step = $2 and item = $3 and call_number = $4 and ended_at is null",
    [key.runId, key.step, key.item, key.callNumber],
  );
}

/**
 * Stores the provider's name for a started job. Fenced by the attempt that started it.
 * @returns false if another attempt owns the row.
 */
export async function storeOperation(
  db: Queryable,
  key: CallKey,
  { attempt, operation }: { attempt: number; operation: JsonValue },
): Promise<boolean> {
  const rows = await db.query<{ call_number: number }>(
    {
      name: "provider_call_operation",
      text: `update provider_calls set operation = $6
             where run_id = $1 and step = $2 and item = $3 and call_number = $4 and attempt = $5 and ended_at is null
             returning call_number`,
    },
    [key.runId, key.step, key.item, key.callNumber, attempt, JSON.stringify(operation)],
  );
  return rows.length > 0;
}

export interface CallEnd {
  readonly key: CallKey;
  readonly outcome: string;
  readonly httpStatus: number | null;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly usage: Usage | null;
  readonly costMicro: number | null;
}

/**
 * Records how calls ended, many at once; a call that already ended keeps its first outcome. Nobody waits for this to be
 * on disk, and its flush would delay those of runs. So a database crash loses the latest ones, as a process crash does.
 */
export async function recordEnds(db: Queryable, ends: readonly CallEnd[]): Promise<void> {
  if (ends.length === 0) return;
  const column = (read: (end: CallEnd) => unknown): unknown[] => ends.map(read);
  await db.query(
    {
      name: "provider_calls_end",
      text: `select set_config('synchronous_commit', 'off', true),
        provider_calls_end($1, $2, $3, $4, $5, $6, $7, $8, $9::json[], $10, $11)`,
    },
    [
      column((end) => end.key.runId),
      column((end) => end.key.step),
      column((end) => end.key.item),
      column((end) => end.key.callNumber),
      column((end) => end.outcome),
      column((end) => end.httpStatus),
      column((end) => end.code),
      column((end) => end.requestId),
      column((end) => (end.usage === null ? null : JSON.stringify(end.usage))),
      column((end) => end.usage?.isEstimated ?? null),
      column((end) => end.costMicro),
    ],
  );
}

/** A started job that no run waits for any longer. */
export interface AbandonedJob {
  readonly key: CallKey;
  readonly model: string;
  readonly operation: JsonValue;
  /** The run ended long enough ago: whatever is wrong with the provider now, there is no further try. */
  readonly isLastTry: boolean;
}

/**
 * Finds jobs that timed out and whose run has ended, and jobs whose run failed while they were under way. Jobs of canceled
 * runs are found at once. For other failed runs the end of the call may not be written yet, so a minute passes first.
 */
export function findAbandonedJobs(db: Queryable, batch: number): Promise<AbandonedJob[]> {
  return queryAnswers(
    db,
    {
      name: "provider_calls_abandoned",
      text: `select c.run_id as "key.runId", c.step as "key.step", c.item as "key.item", c.call_number as "key.callNumber",
          c.model, c.operation, r.finished_at < promptd_now() - interval '2 minutes' as "isLastTry"
        from provider_calls c join runs r on r.account_id = c.account_id and r.id = c.run_id
        where c.operation is not null and c.ended_at is null and c.sent_at > promptd_now() - interval '2 hours'
          and (c.outcome = 'timeout' and r.finished_at is not null
            or r.status = 'failed'
              and (r.fail_reason = 'canceled' or r.finished_at < promptd_now() - interval '1 minute'))
        order by c.sent_at limit $1`,
    },
    [batch],
  );
}

/**
 * Long enough to compare a provider's monthly invoice with the calls. No run lives longer than half an hour, so no attempt
 * limit needs older rows.
 */
const STORED_DAYS = 35;

/**
 * Deletes a batch of old calls by the time in their run ids. That is the order of the primary key, so rows that stay are
 * not scanned. @returns how many were deleted.
 */
export async function deleteOldCalls(db: Database, batch: number): Promise<number> {
  const [row] = await db.query<{ deleted: number }>(
    `with edge as materialized (
        select promptd_now() - make_interval(days => ${STORED_DAYS}) as at
      ), old as (
        select c.run_id, c.step, c.item, c.call_number from provider_calls c
        where c.run_id < (select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid from edge)
          and c.sent_at < (select at from edge) -- excludes ids from a process whose clock was wrong
        order by c.run_id, c.step, c.item, c.call_number limit $1
      ), deleted as (
        delete from provider_calls c using old
        where c.run_id = old.run_id and c.step = old.step and c.item = old.item and c.call_number = old.call_number
        returning 1
      )
      select count(*)::int as deleted from deleted`,
    [batch],
  );
  return row?.deleted ?? 0;
}
