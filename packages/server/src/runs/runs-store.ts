import type { OutputItem, Run, RunListRow, RunStatus } from "@promptd/contract";
import { isoTime } from "../platform/clock.ts";
import type { Database, Queryable, Tx, TxOptions } from "../platform/database/database.ts";
import { firstIdOfMs, idTimeMs } from "../platform/ids.ts";
import { familyOf, type Family } from "../platform/metrics/metrics.ts";
import { notFound } from "../platform/problem.ts";
import { describePublicId } from "../prompts/index.ts";
import { runEnds } from "./run-metrics.ts";
import { visibleOutputs } from "./run-state.ts";

/** The members of a run, with everything written so far as its outputs (`toRun`). */
const RUN = `r.id as "runId", r.outputs, r.status as "runStatus", coalesce(r.credits, 0) as tokens`;

/** Counts the account's queued and running runs, up to `countMax`. */
export async function countActiveRuns(db: Database, accountId: string, countMax: number): Promise<number> {
  const rows = await db.named(
    "runs_active",
    "select 1 from runs where account_id = $1 and status in ('queued', 'running') limit $2",
    [accountId, countMax],
  );
  return rows.length;
}

export async function findRun(db: Database, accountId: string, runId: string): Promise<Run | null> {
  const text = `select ${RUN} from runs r where r.account_id = $1 and r.id = $2`;
  const [run] = await db.named<Run>("run_get", text, [accountId, runId]);
  return run === undefined ? null : toRun(run);
}

/** @throws Problem NOT_FOUND_ERROR, the same for a missing run and for a run of another account. */
export async function getRun(db: Database, accountId: string, runId: string): Promise<Run> {
  const run = await findRun(db, accountId, runId);
  if (run === null) throw notFound("run", runId, await describePublicId(db, runId));
  return run;
}

/** Null: the account has no such run. */
export async function findVersionOfRun(db: Database, accountId: string, runId: string): Promise<string | null> {
  const text = "select prompt_version_id as id from runs where account_id = $1 and id = $2";
  return (await db.named<{ id: string }>("run_version", text, [accountId, runId]))[0]?.id ?? null;
}

/** A run and its account: what the waiting hub's batch lookups return. */
export interface RunOfAccount {
  readonly accountId: string;
  readonly runId: string;
}

export interface FinishedRun extends RunOfAccount {
  /** Size of its outputs. */
  readonly bytes: number;
}

export interface FinishedRuns {
  readonly read: readonly Run[];
  /** Also final, but their outputs are too large to come with the others (large-rows.ts). */
  readonly unread: readonly FinishedRun[];
}

/**
 * Those of the given runs that are final, at most 1,000 at a time; the smallest include their outputs, up to
 * `bytesMax`.
 */
export async function findFinishedRuns(
  db: Database,
  runs: readonly RunOfAccount[],
  bytesMax: number,
): Promise<FinishedRuns> {
  const rows = await db.named<FinishedRun & Omit<Run, "outputs"> & { readonly outputs: OutputItem[] | null }>(
    "waiters_done",
    `select r.account_id as "accountId", r.id as "runId", r.status as "runStatus", coalesce(r.credits, 0) as tokens,
       r.outputs_bytes as bytes,
       case when sum(r.outputs_bytes) over (order by r.outputs_bytes, r.id) <= $3 then r.outputs end as outputs
     from unnest($1::uuid[], $2::uuid[]) d (account_id, id)
     join runs r on r.account_id = d.account_id and r.id = d.id where r.finished_at is not null`,
    [...idColumns(runs), bytesMax],
  );
  return {
    read: rows.flatMap(({ runId, outputs, runStatus, tokens }) =>
      outputs === null ? [] : [toRun({ runId, outputs, runStatus, tokens })],
    ),
    unread: rows.filter(({ outputs }) => outputs === null),
  };
}

/** Whole runs by id, of any size. */
export async function readRuns(db: Queryable, runs: readonly RunOfAccount[]): Promise<Map<string, Run>> {
  const rows = await db.query<Run>(
    {
      name: "runs_read",
      text: `select ${RUN} from unnest($1::uuid[], $2::uuid[]) d (account_id, id)
        join runs r on r.account_id = d.account_id and r.id = d.id`,
    },
    idColumns(runs),
  );
  return new Map(rows.map((run) => [run.runId, toRun(run)]));
}

/** The inputs of runs by id, of any size. */
export async function readInputs(db: Queryable, runs: readonly RunOfAccount[]): Promise<Map<string, unknown>> {
  const rows = await db.query<{ id: string; inputs: unknown }>(
    {
      name: "run_inputs",
      text: `select r.id, r.inputs from unnest($1::uuid[], $2::uuid[]) d (account_id, id)
        join runs r on r.account_id = d.account_id and r.id = d.id`,
    },
    idColumns(runs),
  );
  return new Map(rows.map((row) => [row.id, row.inputs]));
}

function idColumns(runs: readonly RunOfAccount[]): [string[], string[]] {
  return [runs.map((run) => run.accountId), runs.map((run) => run.runId)];
}

export async function hasRun(db: Database, accountId: string, runId: string): Promise<boolean> {
  const rows = await db.named("run_cursor", "select 1 from runs where account_id = $1 and id = $2", [accountId, runId]);
  return rows.length > 0;
}

export interface RunPage {
  /** Exclusive upper bound for the id. */
  readonly before: string;
  /** Inclusive lower bound for the id. */
  readonly from: string;
  /** Exclusive lower bound. If given, the page is the one nearest to it. */
  readonly after: string | null;
  readonly status: RunStatus | null;
  readonly rowsMax: number;
  /** Limit for the outputs. One row is always read. */
  readonly bytesMax: number;
}

interface PageRow extends Omit<RunListRow, "outputs" | "createdAt" | "batch"> {
  /** Null: for the rows that only show that there are more. */
  readonly outputs: OutputItem[] | null;
  readonly requestId: string | null;
}

/**
 * Reads the rows of a page and one beyond it, newest first, or oldest first starting from `after`. Rows whose outputs
 * exceed the budget come without outputs, which are then not read at all. Each shape of the query has its own text,
 * never `$5 is null or status = $5`: a generic plan could use no index for that.
 */
export async function listRunRows(
  db: Queryable,
  accountId: string,
  page: RunPage,
): Promise<{ rows: { listed: RunListRow; requestId: string | null }[]; hasMore: boolean }> {
  const values: unknown[] = [accountId, page.before, page.from, page.rowsMax, page.bytesMax];
  const status = page.status === null ? "" : `and status = $${values.push(page.status)}`;
  const after = page.after === null ? "" : `and id > $${values.push(page.after)}`;
  const order = page.after === null ? "id desc" : "id";
  const rows = await db.query<PageRow>(
    {
      name: `runs_list${page.status === null ? "" : "_of_status"}${page.after === null ? "" : "_back"}`,
      text: `select id as "runId", prompt_version_id as "promptVersionId",
          case when n = 1 or (n <= $4 and bytes <= $5) then outputs end as outputs,
          status as "runStatus", credits, run_name as "runName", request_id as "requestId"
        from (
          select found.*, row_number() over (order by ${order}) as n, sum(outputs_bytes) over (order by ${order}) as bytes
          from (
            select id, prompt_version_id, outputs, outputs_bytes, status, credits, run_name, request_id from runs
            where account_id = $1 and id < $2 and id >= $3 ${after} ${status} order by ${order} limit $4 + 1) found) page
        order by n`,
    },
    values,
  );
  const within = rows.flatMap(({ requestId, ...row }) => {
    if (row.outputs === null) return [];
    const outputs = visibleOutputs(row.runStatus, row.outputs);
    return [{ requestId, listed: { ...row, outputs, createdAt: isoTime(idTimeMs(row.runId)) } }];
  });
  return { rows: within, hasMore: rows.length > within.length };
}

/** Outcomes of run_cancel (sql/cancel.sql). */
export type CancelOutcome = "not_found" | "finished" | "canceled_waiting" | "canceled_running";

export async function cancelRunRow(
  db: Database,
  accountId: string,
  runId: string,
  limits?: TxOptions,
): Promise<CancelOutcome> {
  const outcome = await db.tx(async (tx) => {
    const [row] = await tx.query<{ outcome: CancelOutcome }>("select run_cancel($1, $2) as outcome", [
      accountId,
      runId,
    ]);
    if (row === undefined) throw new Error("run_cancel returned no row.");
    return row.outcome;
  }, limits);
  if (outcome === "canceled_waiting" || outcome === "canceled_running") runEnds.add(["failed", "canceled"]);
  return outcome;
}

export interface UncountedUses {
  /** Number of runs per prompt version. */
  readonly uses: ReadonlyMap<string, number>;
  /** False: the span ended before all runs were counted. */
  readonly isAll: boolean;
}

/** A mark further ahead than this was set by a wrong clock, not by a clock that is slightly off. */
const MARK_AHEAD_MAX_MS = 60_000;

/**
 * Returns the runs of the next `spanMs` after the mark that are at least `settleMs` old, and moves the mark in the same
 * transaction. Times are the database's. A mark in the future is moved back to the present: runs of a time that comes
 * twice may be counted twice, but while a mark stood a year ahead, a whole year of runs would not be counted at all.
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

function toRun(run: Run): Run {
  return { ...run, outputs: visibleOutputs(run.runStatus, run.outputs) };
}

/** Counting stops here, which bounds what a scrape costs: counting 100,000 waiting runs takes 20 to 60 ms (2026-11-28). */
const COUNTED_MAX = 100_000;

interface Counts {
  readonly waiting: number;
  readonly waitingSeconds: number;
  readonly running: number;
  readonly workers: number;
  readonly runningBatches: number;
  readonly pausedBatches: number;
}

/** Reads only partial indexes: runs and batches that are not final. A worker counts for the longest lease. */
const COUNT = `select waiting, waiting_seconds as "waitingSeconds",
    (select count(*)::int from runs where worker is not null) as running,
    (select count(*)::int from workers where heartbeat_at > promptd_now() - interval '1 min') as workers,
    running as "runningBatches", paused as "pausedBatches"
  from (
    select count(*)::int as waiting,
      coalesce(greatest(extract(epoch from promptd_now() - min(run_at)), 0), 0)::float8 as waiting_seconds
    from (select run_at from runs where worker is null and finished_at is null limit $1) w
  ) waiting_runs, (
    select count(*) filter (where status = 'running')::int as running, count(*) filter (where status = 'paused')::int as paused
    from batches where finished_at is null
  ) open_batches`;

/** Reads how many runs, workers, and batches the installation has. */
export async function readRunsMetrics(db: Queryable): Promise<Family[]> {
  const [counts] = await db.query<Counts>({ name: "runs_metrics", text: COUNT }, [COUNTED_MAX]);
  if (counts === undefined) throw new Error("The database did not count the runs.");
  const { waiting, waitingSeconds, running, workers, runningBatches, pausedBatches } = counts;
  const runs = {
    name: "promptd_installation_runs",
    help: `Runs of the installation that are not final, by state; of the waiting runs, at most ${COUNTED_MAX} are counted.`,
  };
  const oldest = {
    name: "promptd_installation_longest_wait_seconds",
    help: "How long the waiting run that was due first has been due, in the installation.",
  };
  const alive = {
    name: "promptd_installation_workers",
    help: "Workers of the installation with a heartbeat within the last minute.",
  };
  const batches = { name: "promptd_installation_batches", help: "Batches of the installation, by state." };
  return [
    familyOf(
      runs,
      ["state"],
      [
        [["waiting"], waiting],
        [["running"], running],
      ],
    ),
    familyOf(oldest, [], [[[], waitingSeconds]]),
    familyOf(alive, [], [[[], workers]]),
    familyOf(
      batches,
      ["state"],
      [
        [["running"], runningBatches],
        [["paused"], pausedBatches],
      ],
    ),
  ];
}
