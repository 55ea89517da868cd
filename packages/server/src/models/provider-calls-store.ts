/** SQL of the sends to providers (migration 0005). Every statement changes rows of one item of one run only. */
import type { Queryable } from "../platform/database.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import type { JsonValue } from "./mapping.ts";
import type { ModelRequest } from "./model-call.ts";
import type { Usage } from "./price-plan.ts";

export interface SendKey {
  readonly runId: string;
  readonly step: number;
  readonly item: number;
  readonly send: number;
}

export type SendStart =
  /** The row is written: send now. */
  | { readonly kind: "begun"; readonly key: SendKey }
  /** An earlier attempt started a video that has not failed: ask for it instead of paying again. */
  | { readonly kind: "started"; readonly key: SendKey; readonly operation: JsonValue }
  | { readonly kind: "used-up" };

export const SENDS_MAX = 3;

interface BeginRow {
  send: number;
  operation: JsonValue;
  begun: boolean;
}

/**
 * Counts a send before it is made, in one statement: the earlier sends are read and the next one is inserted unless
 * three were made or a started video is open. Two attempts at once (one of them has lost the run) meet in the primary
 * key: the second inserts nothing and asks again.
 */
export async function beginSend(db: Queryable, request: ModelRequest, entry: CatalogueEntry): Promise<SendStart> {
  const place = [request.runId, request.step, request.item];
  for (;;) {
    const [row] = await db.query<BeginRow>(
      {
        name: "provider_call_begin",
        text: `with earlier as (
            select send, operation, outcome from provider_calls where run_id = $1 and step = $2 and item = $3
          ), open as (
            select send, operation from earlier
            where operation is not null and (outcome is null or outcome = 'video') order by send desc limit 1
          ), counted as (
            select coalesce(max(send), 0) as sends from earlier
          ), begun as (
            insert into provider_calls (run_id, step, item, send, account_id, attempt, model, provider, provider_model)
            select $1, $2, $3, sends + 1, $4, $5, $6, $7, $8 from counted
            where sends < ${SENDS_MAX} and not exists (select 1 from open)
            on conflict do nothing
            returning send
          )
          select send, operation, false as begun from open
          union all select send, null, true from begun
          union all select sends, null, false from counted where sends >= ${SENDS_MAX} and not exists (select 1 from open)`,
      },
      [...place, request.accountId, request.attempt, entry.model, entry.provider, entry.providerModel],
    );
    if (row === undefined) continue; // another attempt took this number in the same moment
    const key = { runId: request.runId, step: request.step, item: request.item, send: row.send };
    if (row.begun) return { kind: "begun", key };
    return row.operation === null ? { kind: "used-up" } : { kind: "started", key, operation: row.operation };
  }
}

/**
 * Keeps how the provider names a started video. Fenced by the attempt that sent it.
 * @returns false when another attempt owns the row.
 */
export async function keepOperation(
  db: Queryable,
  key: SendKey,
  { attempt, operation }: { attempt: number; operation: JsonValue },
): Promise<boolean> {
  const rows = await db.query<{ send: number }>(
    {
      name: "provider_call_operation",
      text: `update provider_calls set operation = $6
             where run_id = $1 and step = $2 and item = $3 and send = $4 and attempt = $5 and ended_at is null
             returning send`,
    },
    [key.runId, key.step, key.item, key.send, attempt, JSON.stringify(operation)],
  );
  return rows.length > 0;
}

export interface SendEnd {
  readonly key: SendKey;
  readonly outcome: string;
  readonly httpStatus: number | null;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly usage: Usage | null;
  readonly costMicro: number | null;
}

/** Records how sends ended, many at once; a send that has ended already keeps its first end. */
export async function endSends(db: Queryable, ends: readonly SendEnd[]): Promise<void> {
  if (ends.length === 0) return;
  const column = (read: (end: SendEnd) => unknown): unknown[] => ends.map(read);
  await db.query(
    {
      name: "provider_call_end",
      text: `with ends as (
          select * from unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::text[], $6::int[], $7::text[], $8::text[],
            $9::text[], $10::boolean[], $11::bigint[])
          as e (run_id, step, item, send, outcome, http_status, provider_code, request_id, usage, usage_estimated, cost_micro)
        )
        update provider_calls c set ended_at = promptd_now(), outcome = e.outcome, http_status = e.http_status,
          provider_code = e.provider_code, request_id = e.request_id, usage = e.usage::json,
          usage_estimated = e.usage_estimated, cost_micro = e.cost_micro
        from ends e
        where c.run_id = e.run_id and c.step = e.step and c.item = e.item and c.send = e.send and c.ended_at is null`,
    },
    [
      column((end) => end.key.runId),
      column((end) => end.key.step),
      column((end) => end.key.item),
      column((end) => end.key.send),
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
