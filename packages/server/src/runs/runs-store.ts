import type { OutputItem, Run, RunListRow, RunStatus } from "@promptd/contract";
import { isoTime } from "../platform/clock.ts";
import type { Database, Queryable, Tx } from "../platform/database.ts";
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
  | { readonly kind: "no_credits"; readonly available: number };

export async function createRunRow(db: Queryable, run: RunToCreate): Promise<CreateOutcome> {
  const [row] = await db.query<{ outcome: CreateOutcome["kind"]; run_id: string | null; available: number | null }>(
    {
      name: "run_create",
      text: `select outcome, run_id, available from run_create($1, $2, to_timestamp($3::bigint / 1000.0), $4, $5, $6, $7,
        $8, $9, $10, make_interval(secs => $11), $12, $13, $14)`,
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
    ],
  );
  if (row === undefined) throw new Error("run_create answered no row.");
  if (row.outcome === "no_credits") return { kind: row.outcome, available: row.available ?? 0 };
  if (row.outcome === "key_conflict") return { kind: row.outcome };
  if (row.outcome === "not_found") return { kind: row.outcome };
  return { kind: row.outcome, runId: row.run_id ?? run.runId };
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

/** Those of the given runs that are final. At most 1,000 at a time. */
export async function findFinishedRuns(db: Database, runs: readonly RunOfAccount[]): Promise<Run[]> {
  const rows = await db.named<RunRow>(
    "waiters_done",
    `select r.id, r.status, r.outputs, r.credits from unnest($1::uuid[], $2::uuid[]) d (account_id, id)
     join runs r on r.account_id = d.account_id and r.id = d.id where r.finished_at is not null`,
    [runs.map((run) => run.accountId), runs.map((run) => run.runId)],
  );
  return rows.map(toRun);
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
}

const LIST_COLUMNS = "id, prompt_version_id, outputs, status, credits, run_name";

/**
 * One text per shape of the query, never `$5 is null or status = $5`: a generic plan could use no index for it
 * (measured 2026-11 at 5 million rows: 4 to 56 buffers this way, 100,887 the other). Newest first in both directions.
 */
export async function listRunRows(db: Queryable, accountId: string, page: RunPage): Promise<RunListRow[]> {
  const values: unknown[] = [accountId, page.before, page.from, page.rowsMax];
  const status = page.status === null ? "" : `and status = $${values.push(page.status)}`;
  const after = page.after === null ? "" : `and id > $${values.push(page.after)}`;
  const order = page.after === null ? "desc" : "asc";
  const rows = await db.query<ListRow>(
    `select ${LIST_COLUMNS} from runs where account_id = $1 and id < $2 and id >= $3 ${status} ${after}
     order by id ${order} limit $4`,
    values,
  );
  return rows.map(toListRow);
}

/** Outcomes as in migration 0008. */
export type CancelOutcome = "not_found" | "finished" | "canceled_waiting" | "canceled_running";

export async function cancelRunRow(db: Database, accountId: string, runId: string): Promise<CancelOutcome> {
  return db.tx(async (tx) => {
    const [row] = await tx.query<{ outcome: CancelOutcome }>("select run_cancel($1, $2) as outcome", [
      accountId,
      runId,
    ]);
    if (row === undefined) throw new Error("run_cancel answered no row.");
    return row.outcome;
  });
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
