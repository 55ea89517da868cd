import type { OutputItem, Run, RunListRow, RunStatus } from "@promptd/contract";
import { isoTime } from "../platform/clock.ts";
import type { Database, Queryable, TxOptions } from "../platform/database/database.ts";
import { idTimeMs } from "../platform/ids.ts";
import { notFound } from "../platform/problem.ts";
import { describePublicId } from "../prompts/index.ts";
import { runEnds } from "./run-metrics.ts";
import { visibleOutputs } from "./run-state.ts";

/** The members of a run, with everything written so far as its outputs (`toRun`). */
const RUN = `r.id as "runId", r.outputs, r.status as "runStatus", coalesce(r.credits, 0) as tokens`;

/** Counts the account's queued and running runs, up to `countMax`. */
export async function countActiveRuns(db: Database, accountId: string, countMax: number): Promise<number> {
  const rows = await db.pipelined(
    {
      name: "runs_active",
      text: "select 1 from runs where account_id = $1 and status in ('queued', 'running') limit $2",
    },
    [accountId, countMax],
  );
  return rows.length;
}

export async function findRun(db: Database, accountId: string, runId: string): Promise<Run | null> {
  const text = `select ${RUN} from runs r where r.account_id = $1 and r.id = $2`;
  const [run] = await db.pipelined<Run>({ name: "run_get", text }, [accountId, runId]);
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
  return (await db.pipelined<{ id: string }>({ name: "run_version", text }, [accountId, runId]))[0]?.id ?? null;
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
  const rows = await db.pipelined<FinishedRun & Omit<Run, "outputs"> & { readonly outputs: OutputItem[] | null }>(
    {
      name: "waiters_done",
      text: `select r.account_id as "accountId", r.id as "runId", r.status as "runStatus", coalesce(r.credits, 0) as tokens,
       r.outputs_bytes as bytes,
       case when sum(r.outputs_bytes) over (order by r.outputs_bytes, r.id) <= $3 then r.outputs end as outputs
     from unnest($1::uuid[], $2::uuid[]) d (account_id, id)
     join runs r on r.account_id = d.account_id and r.id = d.id where r.finished_at is not null`,
    },
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
  const rows = await db.pipelined(
    { name: "run_cursor", text: "select 1 from runs where account_id = $1 and id = $2" },
    [accountId, runId],
  );
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

function toRun(run: Run): Run {
  return { ...run, outputs: visibleOutputs(run.runStatus, run.outputs) };
}
