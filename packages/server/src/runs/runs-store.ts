import type { OutputItem, Run, RunList, RunListRow, RunStatus } from "@promptd/contract";
import { isoTime } from "../platform/clock.ts";
import type { Database, Queryable, Tx, TxOptions } from "../platform/database/database.ts";
import { firstIdOfMs, idTimeMs } from "../platform/ids.ts";
import { visibleOutputs } from "./run-state.ts";

interface RunRow {
  id: string;
  status: RunStatus;
  outputs: OutputItem[];
  credits: number | null;
}

interface ListRow extends RunRow {
  prompt_version_id: string;
  run_name: string;
}

export interface RunToCreate {
  readonly accountId: string;
  /** The API key that asks; null: none does. */
  readonly keyId: string | null;
  readonly runId: string;
  readonly promptVersionId: string;
  readonly runName: string;
  readonly model: string;
  /** Credits to hold; null: a free run, which leaves no trace in the ledger. */
  readonly hold: number | null;
  readonly prices: unknown;
  readonly inputs: unknown;
  readonly runOptions: Readonly<Record<string, string>>;
  readonly deadlineSeconds: number;
  readonly activeRunsMax: number;
  readonly idempotency: { readonly key: string; readonly fingerprint: Buffer } | null;
}

export type CreateOutcome =
  | { readonly kind: "created" | "joined"; readonly runId: string }
  | { readonly kind: "key_conflict" }
  | { readonly kind: "not_found" }
  | { readonly kind: "no_credits"; readonly available: number }
  | { readonly kind: "revoked"; readonly revokedAt: Date };

type CreateRow = { run_id: string | null; available: number | null } & (
  | { outcome: Exclude<CreateOutcome["kind"], "revoked"> }
  | { outcome: "revoked"; revoked_at: Date }
);

export async function createRunRow(db: Queryable, run: RunToCreate): Promise<CreateOutcome> {
  const [row] = await db.query<CreateRow>(
    {
      name: "run_create",
      text: `select outcome, run_id, available, revoked_at from run_create($1, $2, to_timestamp($3::bigint / 1000.0),
        $4, $5, $6, $7, $8, $9, $10, make_interval(secs => $11), $12, $13, $14, $15)`,
    },
    [
      run.accountId,
      run.runId,
      idTimeMs(run.runId),
      run.promptVersionId,
      run.runName,
      run.model,
      run.hold,
      JSON.stringify(run.prices),
      JSON.stringify(run.inputs),
      JSON.stringify(run.runOptions),
      run.deadlineSeconds,
      run.activeRunsMax,
      run.idempotency?.key ?? null,
      run.idempotency?.fingerprint ?? null,
      run.keyId,
    ],
  );
  if (row === undefined) throw new Error("run_create answered no row.");
  if (row.outcome === "revoked") return { kind: row.outcome, revokedAt: row.revoked_at };
  if (row.outcome === "no_credits") return { kind: row.outcome, available: row.available ?? 0 };
  if (row.outcome === "key_conflict") return { kind: row.outcome };
  if (row.outcome === "not_found") return { kind: row.outcome };
  return { kind: row.outcome, runId: row.run_id ?? run.runId };
}

/** Queued and running ones of the account, counted up to `countMax`. */
export async function countActiveRuns(db: Database, accountId: string, countMax: number): Promise<number> {
  const rows = await db.named(
    "runs_active",
    "select 1 from runs where account_id = $1 and status in ('queued', 'running') limit $2",
    [accountId, countMax],
  );
  return rows.length;
}

export async function findRun(db: Database, accountId: string, runId: string): Promise<Run | null> {
  const [row] = await db.named<RunRow>(
    "run_get",
    "select id, status, outputs, credits from runs where account_id = $1 and id = $2",
    [accountId, runId],
  );
  return row === undefined ? null : toRun(row);
}

/** A run and whose it is: the answer of the batch look-ups of the waiting hub. */
export interface RunOfAccount {
  readonly accountId: string;
  readonly runId: string;
}

export interface FinishedRun extends RunOfAccount {
  /** At most so many are its outputs. */
  readonly bytes: number;
}

export interface FinishedRuns {
  readonly read: readonly Run[];
  /** Final as well, and not read, since all together would be more than was asked for. */
  readonly unread: readonly FinishedRun[];
}

interface FinishedRow extends Omit<RunRow, "outputs"> {
  account_id: string;
  bytes: number;
  outputs: OutputItem[] | null;
}

/** PostgreSQL makes 273 bytes out of three and a bit with pglz, and 255 out of one with lz4. */
const OUTPUTS_BYTES_MOST = `pg_column_size(outputs)::bigint
  * case pg_column_compression(outputs) when 'pglz' then 88 when 'lz4' then 255 else 1 end`;

/**
 * Those of the given runs that are final, at most 1,000 at a time; the smallest with their outputs, which are at most
 * `bytesMax` together. Large ones are told by their stored size, so what is not read costs nothing.
 */
export async function findFinishedRuns(
  db: Database,
  runs: readonly RunOfAccount[],
  bytesMax: number,
): Promise<FinishedRuns> {
  const rows = await db.named<FinishedRow>(
    "waiters_done",
    `select account_id, id, status, credits, bytes,
       case when sum(bytes) over (order by bytes, id) <= $3 then outputs end as outputs
     from (
       select r.account_id, r.id, r.status, r.credits, r.outputs, ${OUTPUTS_BYTES_MOST} as bytes
       from unnest($1::uuid[], $2::uuid[]) d (account_id, id)
       join runs r on r.account_id = d.account_id and r.id = d.id where r.finished_at is not null) done`,
    [...idColumns(runs), bytesMax],
  );
  return {
    read: rows.flatMap(({ outputs, ...row }) => (outputs === null ? [] : [toRun({ ...row, outputs })])),
    unread: rows
      .filter(({ outputs }) => outputs === null)
      .map((row) => ({ accountId: row.account_id, runId: row.id, bytes: row.bytes })),
  };
}

/** Whole runs, however large: through the pool, since the pipelined connections must never wait. */
export async function readRuns(db: Queryable, runs: readonly RunOfAccount[]): Promise<Run[]> {
  const rows = await db.query<RunRow>(
    {
      name: "runs_read",
      text: `select r.id, r.status, r.outputs, r.credits from unnest($1::uuid[], $2::uuid[]) d (account_id, id)
        join runs r on r.account_id = d.account_id and r.id = d.id`,
    },
    idColumns(runs),
  );
  return rows.map(toRun);
}

function idColumns(runs: readonly RunOfAccount[]): [string[], string[]] {
  return [runs.map((run) => run.accountId), runs.map((run) => run.runId)];
}

export async function hasRun(db: Database, accountId: string, runId: string): Promise<boolean> {
  const rows = await db.named("run_cursor", "select 1 from runs where account_id = $1 and id = $2", [accountId, runId]);
  return rows.length > 0;
}

export interface RunPage {
  /** Exclusive upper bound of the id. */
  readonly before: string;
  /** Inclusive lower bound of the id. */
  readonly from: string;
  /** Exclusive lower bound: given, the page is the one nearest to it. */
  readonly after: string | null;
  readonly status: RunStatus | null;
  readonly rowsMax: number;
  /** Of outputs. One row is read in any case. */
  readonly bytesMax: number;
}

const LIST_COLUMNS = "id, prompt_version_id, outputs, status, credits, run_name";
/** What was not compressed is told by its stored size, without reading it. */
const OUTPUTS_BYTES = `case when pg_column_compression(outputs) is null then pg_column_size(outputs)
  else octet_length(outputs::text) end::bigint`;

interface PageRow extends Omit<ListRow, "outputs"> {
  /** Null: of the row that shows that there are more. */
  outputs: OutputItem[] | null;
}

/**
 * Walks from row to row by an index, over no more of them than the page takes, which large outputs end early, and one
 * beyond. Newest first, or from `after` on oldest first. One text per shape of the query, never `$5 is null or
 * status = $5`: a generic plan could use no index for it (measured 2026-11: four buffers for each row this way, 100,887
 * the other at 5 million rows; fifty rows in 1.4 ms, where one statement without a bound took 0.8 ms).
 */
export async function listRunRows(db: Queryable, accountId: string, page: RunPage): Promise<RunList> {
  const values: unknown[] = [accountId, page.before, page.from, page.rowsMax, page.bytesMax];
  const status = page.status === null ? "" : `and status = $${values.push(page.status)}`;
  const [start, beyond] =
    page.after === null
      ? ["$2", (id: string) => `id < ${id} ${status} order by id desc`]
      : [`$${values.push(page.after)}`, (id: string) => `id > ${id} and id < $2 ${status} order by id`];
  const rowBeyond = (id: string) =>
    `(select ${LIST_COLUMNS}, ${OUTPUTS_BYTES} as row_bytes from runs
      where account_id = $1 and id >= $3 and ${beyond(id)} limit 1)`;
  const rows = await db.query<PageRow>(
    {
      name: `runs_list${page.status === null ? "" : "_of_status"}${page.after === null ? "" : "_back"}`,
      text: `with recursive page as (
          select 1 as n, first.row_bytes as bytes, first.* from ${rowBeyond(start)} first
          union all
          select page.n + 1, page.bytes + next.row_bytes, next.* from page cross join lateral ${rowBeyond("page.id")} next
          where page.n <= $4 and (page.n = 1 or page.bytes <= $5)
        )
        select id, prompt_version_id, status, credits, run_name,
          case when n = 1 or (n <= $4 and bytes <= $5) then outputs end as outputs from page order by n`,
    },
    values,
  );
  const within = rows.flatMap(({ outputs, ...row }) => (outputs === null ? [] : [toListRow({ ...row, outputs })]));
  return { rows: within, hasMore: rows.length > within.length };
}

/** Outcomes as in migration 0008. */
export type CancelOutcome = "not_found" | "finished" | "canceled_waiting" | "canceled_running";

export async function cancelRunRow(
  db: Database,
  accountId: string,
  runId: string,
  limits?: TxOptions,
): Promise<CancelOutcome> {
  return db.tx(async (tx) => {
    const [row] = await tx.query<{ outcome: CancelOutcome }>("select run_cancel($1, $2) as outcome", [
      accountId,
      runId,
    ]);
    if (row === undefined) throw new Error("run_cancel answered no row.");
    return row.outcome;
  }, limits);
}

export interface UncountedUses {
  /** Runs per prompt version. */
  readonly uses: ReadonlyMap<string, number>;
  /** False: the span ended before the runs did. */
  readonly isAll: boolean;
}

/** A mark further ahead than this was set by a clock that was wrong, and not by one that is a little off. */
const MARK_AHEAD_MAX_MS = 60_000;

/**
 * Runs of the next `spanMs` after the mark that are `settleMs` old; moves the mark in the same transaction. The time is
 * the database's. A mark in the future goes back to the present: the runs of a time that comes twice may count twice,
 * and those of a year in which the mark stood ahead would not count at all.
 */
export async function takeUncountedUses(
  tx: Tx,
  { settleMs, spanMs }: { readonly settleMs: number; readonly spanMs: number },
): Promise<UncountedUses> {
  const [mark] = await tx.query<{ counted_to: string; now: Date }>(
    "select counted_to, promptd_now() as now from run_counts where name = 'uses' for update",
  );
  if (mark === undefined) throw new Error("The count of uses has no mark.");
  const fromMs = idTimeMs(mark.counted_to);
  const endMs = mark.now.getTime() - settleMs;
  if (fromMs >= endMs) {
    if (fromMs > endMs + MARK_AHEAD_MAX_MS) await moveUsesMark(tx, firstIdOfMs(endMs));
    return { uses: new Map(), isAll: true };
  }
  const toMs = Math.min(endMs, fromMs + spanMs);
  const rows = await tx.query<{ prompt_version_id: string; uses: number }>(
    `select prompt_version_id, count(*) as uses from runs where id >= $1 and id < $2
     group by prompt_version_id order by prompt_version_id`,
    [mark.counted_to, firstIdOfMs(toMs)],
  );
  await moveUsesMark(tx, firstIdOfMs(toMs));
  return { uses: new Map(rows.map((row) => [row.prompt_version_id, row.uses])), isAll: toMs === endMs };
}

async function moveUsesMark(tx: Tx, countedTo: string): Promise<void> {
  await tx.query("update run_counts set counted_to = $1 where name = 'uses'", [countedTo]);
}

function toRun(row: RunRow): Run {
  return {
    runId: row.id,
    outputs: visibleOutputs(row.status, row.outputs),
    runStatus: row.status,
    tokens: row.credits ?? 0,
  };
}

function toListRow(row: ListRow): RunListRow {
  return {
    runId: row.id,
    promptVersionId: row.prompt_version_id,
    outputs: visibleOutputs(row.status, row.outputs),
    runStatus: row.status,
    credits: row.credits,
    runName: row.run_name,
    createdAt: isoTime(idTimeMs(row.id)),
  };
}
