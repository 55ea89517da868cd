/** SQL for batches, except their functions (sql/batches.sql); the SQL for their items is in batch-items-store.ts. */
import type { Batch, BatchPause, BatchStatus, Page, PageQuery } from "@promptd/contract";
import { isoTime } from "../../platform/clock.ts";
import { queryAnswer } from "../../platform/database/answers.ts";
import type { Database, Queryable, Tx } from "../../platform/database/database.ts";
import { readPage } from "../../platform/database/pages.ts";
import { idTimeMs } from "../../platform/ids.ts";

export interface BatchOfAccount {
  readonly accountId: string;
  readonly batchId: string;
}

export interface NewBatch extends BatchOfAccount {
  readonly name: string | null;
  readonly promptVersionId: string;
  readonly runOptions: Readonly<Record<string, string>>;
  readonly keyId: string;
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  readonly fingerprint: Buffer;
  readonly total: number;
}

/**
 * False: another batch has the idempotency key. Creates of one account run one after another, so the count of
 * unfinished batches includes every earlier one.
 */
export async function insertBatch(tx: Tx, batch: NewBatch): Promise<boolean> {
  const rows = await tx.query(
    `insert into batches (account_id, id, name, prompt_version_id, run_options, api_key_id, request_id, idempotency_key,
       fingerprint, total)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (account_id, idempotency_key) where idempotency_key is not null do nothing returning 1`,
    [
      batch.accountId,
      batch.batchId,
      batch.name,
      batch.promptVersionId,
      JSON.stringify(batch.runOptions),
      batch.keyId,
      batch.requestId,
      batch.idempotencyKey,
      batch.fingerprint,
      batch.total,
    ],
  );
  return rows.length === 1;
}

/** Locks batch creation for the account until the transaction ends. @returns how many batches are unfinished. */
export async function countOpenBatches(tx: Tx, accountId: string): Promise<number> {
  await tx.query("select pg_advisory_xact_lock(18021, hashtext($1))", [accountId]);
  const text = "select count(*) as n from batches where account_id = $1 and finished_at is null";
  const [row] = await tx.query<{ n: number }>(text, [accountId]);
  return row?.n ?? 0;
}

/** Null: the account has no batch with this key. */
export function findBatchOfKey(
  db: Queryable,
  accountId: string,
  key: string,
): Promise<{ readonly batchId: string; readonly fingerprint: Buffer } | null> {
  const text = `select id as "batchId", fingerprint from batches where account_id = $1 and idempotency_key = $2`;
  return queryAnswer(db, text, [accountId, key]);
}

/** Items counted as ended are totaled in the batch row; for the few others, the query reads their runs. */
const COLUMNS = `b.id as "batchId", b.name, b.prompt_version_id as "promptVersionId", b.status as "batchStatus",
  case when b.pause_reason is not null
    then json_build_object('reason', b.pause_reason, 'message', coalesce(b.pause_message, '')) end as pause,
  json_build_object('total', b.total, 'notStarted', b.total - b.succeeded - b.failed - b.canceled - open.started,
    'queued', open.queued, 'running', open.running, 'succeeded', b.succeeded + open.succeeded,
    'failed', b.failed + open.failed, 'canceled', b.canceled + open.canceled) as counts,
  b.credits + open.credits as credits, b.finished_at as "finishedAt"`;
const FROM = `batches b cross join lateral (
  select count(*) as started, count(*) filter (where r.status = 'queued') as queued, count(*) filter (where r.status = 'running') as running,
    count(*) filter (where r.status = 'succeeded') as succeeded,
    count(*) filter (where r.status = 'failed' and r.fail_reason = 'canceled') as canceled,
    count(*) filter (where r.status = 'failed' and r.fail_reason is distinct from 'canceled') as failed,
    coalesce(sum(r.credits) filter (where r.finished_at is not null), 0)::bigint as credits
  from batch_items i join runs r on r.account_id = b.account_id and r.id = i.run_id
  where i.batch_id = b.id and i.run_id is not null and i.ended_at is null) open`;

export async function findBatch(db: Queryable, { accountId, batchId }: BatchOfAccount): Promise<Batch | null> {
  const text = `select ${COLUMNS} from ${FROM} where b.account_id = $1 and b.id = $2`;
  const row = await queryAnswer<BatchRow>(db, text, [accountId, batchId]);
  return row && toBatch(row);
}

export async function listBatches(db: Queryable, accountId: string, query: PageQuery): Promise<Page<Batch>> {
  const page = await readPage<BatchRow>(db, query, {
    what: "batch",
    columns: COLUMNS,
    from: FROM,
    where: "b.account_id = $1",
    values: [accountId],
    id: "b.id",
  });
  return { ...page, rows: page.rows.map(toBatch) };
}

type BatchRow = Omit<Batch, "createdAt">;

function toBatch(row: BatchRow): Batch {
  return { ...row, createdAt: isoTime(idTimeMs(row.batchId)) };
}

export const NOT_PAUSED = "pause_reason = null, pause_message = null, paused_at = null, retry_at = null";

/** False: the account has no such batch. A batch that has ended stays unchanged. */
export async function cancelBatchRow(db: Database, { accountId, batchId }: BatchOfAccount): Promise<boolean> {
  return db.tx(async (tx) => {
    // For update: it waits for runs that are being created (batch_item_start), so that the statements below see them.
    const text = "select 1 from batches where account_id = $1 and id = $2 for update";
    if ((await tx.query(text, [accountId, batchId])).length === 0) return false;
    await tx.query(
      `update batches set status = 'canceled', ${NOT_PAUSED}
       where account_id = $1 and id = $2 and status in ('running', 'paused')`,
      [accountId, batchId],
    );
    return true;
  });
}

/** False: the account has no such batch. A batch that is not paused stays unchanged. */
export async function resumeBatchRow(
  db: Queryable,
  { accountId, batchId }: BatchOfAccount,
  keyId: string,
): Promise<boolean> {
  const rows = await db.query(
    `update batches set api_key_id = case when status = 'paused' then $3 else api_key_id end,
       status = case when status = 'paused' then 'running' else status end, ${NOT_PAUSED}
     where account_id = $1 and id = $2 returning 1`,
    [accountId, batchId, keyId],
  );
  return rows.length === 1;
}

/** The runs of a batch that are not final. */
export async function listOpenRuns(db: Queryable, { accountId, batchId }: BatchOfAccount): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select r.id from batch_items i join runs r on r.account_id = $1 and r.id = i.run_id
     where i.batch_id = $2 and i.run_id is not null and i.ended_at is null and r.finished_at is null`,
    [accountId, batchId],
  );
  return rows.map(({ id }) => id);
}

/** Counts the items that have ended (sql/batches.sql). */
export async function collectBatch(db: Queryable, { accountId, batchId }: BatchOfAccount): Promise<void> {
  await db.query("select batch_collect($1, $2)", [accountId, batchId]);
}

/** A batch with work left to do, as the starter sees it. */
export interface OpenBatch
  extends BatchOfAccount, Pick<NewBatch, "keyId" | "requestId" | "promptVersionId" | "runOptions"> {
  readonly status: BatchStatus;
  /** Runs of the batch that are not final, and how many of them no worker has. */
  readonly unfinished: number;
  readonly waiting: number;
  /** Some of its runs have ended and are not counted yet, or none of its items is open any longer. */
  readonly isToCollect: boolean;
  /** How many runs of the account may execute at once. */
  readonly accountRunsMax: number;
  /** False: it is paused, and must not be retried yet. */
  readonly isDue: boolean;
}

const OPEN_BATCHES_MAX = 1_000;

/** A paused batch is retried after a quarter of the time it has been paused for, within these limits. */
const RETRY_SECONDS_MIN = 5;
const RETRY_SECONDS_MAX = 3_600;

/** A later time was written before the clock stepped back. */
const IS_TO_RETRY = `b.retry_at <= promptd_now() or b.retry_at > promptd_now() + interval '${RETRY_SECONDS_MAX} seconds'`;

/**
 * Batches of whole accounts after the given account: an account's batches share a window, so they stay together.
 * `next`: the account after which there are more; null: these were the last.
 */
export async function listOpenBatches(
  db: Queryable,
  after: string,
): Promise<{ readonly batches: OpenBatch[]; readonly next: string | null }> {
  const statement = {
    name: "batches_open",
    text: `select b.account_id as "accountId", b.id as "batchId", b.status, b.api_key_id as "keyId",
        b.request_id as "requestId", b.prompt_version_id as "promptVersionId", b.run_options as "runOptions",
        open.unfinished, open.waiting,
        open.ended > 0 or b.succeeded + b.failed + b.canceled = b.total
          or b.status = 'canceled' and open.unfinished = 0 as "isToCollect",
        coalesce(own.max_running, def.max_running, 50) as "accountRunsMax",
        (b.status = 'running' or coalesce(b.status = 'paused' and (${IS_TO_RETRY}), false)) and exists (
          select 1 from batch_items w where w.batch_id = b.id and w.run_id is null and w.ended_at is null) as "isDue"
      from batches b
      cross join lateral (
        select count(*) filter (where r.finished_at is null) as unfinished,
          count(*) filter (where r.finished_at is null and r.worker is null) as waiting,
          count(*) filter (where r.finished_at is not null) as ended
        from batch_items i join runs r on r.account_id = b.account_id and r.id = i.run_id
        where i.batch_id = b.id and i.run_id is not null and i.ended_at is null) open
      left join run_limits own on own.scope = 'account:' || b.account_id
      left join run_limits def on def.scope = 'account'
      where b.finished_at is null and b.account_id > $1 order by b.account_id, b.id limit ${OPEN_BATCHES_MAX}`,
  };
  const rows = await db.query<OpenBatch>(statement, [after]);
  const last = rows.at(-1)?.accountId ?? "";
  const whole = rows.filter(({ accountId }) => accountId !== last);
  if (rows.length < OPEN_BATCHES_MAX || whole.length === 0) return { batches: rows, next: null };
  return { batches: whole, next: whole.at(-1)?.accountId ?? null };
}

/** `isForOwner`: only its owner can resolve it, so it is not retried automatically. */
export async function pauseBatch(
  db: Queryable,
  { accountId, batchId }: BatchOfAccount,
  pause: { readonly reason: BatchPause; readonly message: string; readonly isForOwner: boolean },
): Promise<void> {
  await db.query(
    `update batches set status = 'paused', pause_reason = $3, pause_message = $4,
       paused_at = coalesce(paused_at, promptd_now()),
       retry_at = case when not $5 then promptd_now() + least(make_interval(secs => ${RETRY_SECONDS_MAX}), greatest(
         make_interval(secs => ${RETRY_SECONDS_MIN}), (promptd_now() - coalesce(paused_at, promptd_now())) / 4)) end
     where account_id = $1 and id = $2 and status in ('running', 'paused')`,
    [accountId, batchId, pause.reason, pause.message, pause.isForOwner],
  );
}

/** The reason for the pause is gone. */
export async function unpauseBatch(db: Queryable, { accountId, batchId }: BatchOfAccount): Promise<void> {
  await db.query(
    `update batches set status = 'running', ${NOT_PAUSED} where account_id = $1 and id = $2 and status = 'paused'`,
    [accountId, batchId],
  );
}
