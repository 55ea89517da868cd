/**
 * The queue of runs, as one worker sees it: statements on the runs table (migration 0008), each fenced by the worker's
 * id and the run's attempt. A worker that lost its lease can still call them all; they then change nothing.
 */
import { hostname } from "node:os";
import type { Database, Queryable } from "../../platform/database/database.ts";
import { sqlState } from "../../platform/database/errors.ts";
import { fault } from "../../platform/fault.ts";

export interface ClaimedRun {
  readonly accountId: string;
  readonly runId: string;
  readonly attempt: number;
  /** On this process's monotonic clock (`performance.now()`): its wall clock may be wrong, or be set. */
  readonly deadlineMs: number;
  readonly promptVersionId: string;
  readonly model: string;
  /** Null: a free run. */
  readonly hold: number | null;
  readonly prices: unknown;
  /** Null: too large to come with the claim; they are read when the run begins (inputs-reader.ts). */
  readonly inputs: unknown;
  readonly runOptions: Readonly<Record<string, string>>;
}

/** Where the next claim goes on in the circle of (account, model) pairs. */
export interface ClaimCursor {
  readonly account: string;
  readonly model: string;
}

export interface Claim {
  readonly runs: readonly ClaimedRun[];
  /** Null: the circle is complete, begin again. */
  readonly next: ClaimCursor | null;
}

/** The lease ran out and others have the runs now: take a new worker id. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

interface ClaimRow {
  account_id: string;
  id: string | null;
  attempt: number;
  left_ms: number;
  prompt_version_id: string;
  model: string;
  hold: number | null;
  prices: unknown;
  inputs: unknown;
  run_options: Record<string, string>;
  next_account: string | null;
  next_model: string | null;
}

const LANE = 0; // one lane; more of them are a matter of scale, and the statements already know them
export const CIRCLE_START: ClaimCursor = { account: "00000000-0000-0000-0000-000000000000", model: "" };
const LEASE_LOST = "PD001";
/** 200 runs with as much are 8 MiB: 0.7 s of the 5 s of a statement over a line of 100 Mbit/s. */
const CLAIMED_INPUTS_BYTES_MAX = 40 * 1_024;

export interface Lease {
  readonly workerId: string;
  readonly leaseMs: number;
}

/** @throws LeaseLost. */
export async function claimRuns(
  db: Database,
  lease: Lease,
  want: { readonly runsMax: number; readonly after: ClaimCursor },
): Promise<Claim> {
  await fault("claim.before_commit");
  const sentMs = performance.now();
  const rows = await db
    .query<ClaimRow>(
      {
        name: "run_claim",
        // What is left is told and not when it ends: the database's clock may be another than this machine's.
        text: `select account_id, id, attempt, (extract(epoch from deadline_at - promptd_now()) * 1000)::float8 as left_ms,
          prompt_version_id, model, hold, prices, inputs, run_options,
          next_account, next_model from run_claim($1, $2, $3, $4, $5, make_interval(secs => $6::float8 / 1000), $7)`,
      },
      [
        lease.workerId,
        LANE,
        want.runsMax,
        want.after.account,
        want.after.model,
        lease.leaseMs,
        CLAIMED_INPUTS_BYTES_MAX,
      ],
    )
    .catch((error: unknown) => {
      throw sqlState(error) === LEASE_LOST ? new LeaseLost("The lease of this worker ran out.") : error;
    });
  await fault("claim.after_commit");
  const last = rows.at(-1);
  const next = last?.next_account == null ? null : { account: last.next_account, model: last.next_model ?? "" };
  return { runs: rows.flatMap((row) => toClaimedRun(row, sentMs)), next };
}

function toClaimedRun(row: ClaimRow, sentMs: number): ClaimedRun[] {
  if (row.id === null) return [];
  return [
    {
      accountId: row.account_id,
      runId: row.id,
      attempt: row.attempt,
      deadlineMs: sentMs + row.left_ms,
      promptVersionId: row.prompt_version_id,
      model: row.model,
      hold: row.hold,
      prices: row.prices,
      inputs: row.inputs,
      runOptions: row.run_options,
    },
  ];
}

/** Writes this worker's row, on the connection that will carry its beats; a row whose answer was lost is written again. */
export async function registerWorker(beats: Queryable, workerId: string, version: string): Promise<void> {
  await beats.query(
    `insert into workers (id, host, os_pid, backend_pid, backend_start, version)
     select $1, $2, $3, pid, backend_start, $4 from pg_stat_activity where pid = pg_backend_pid()
     on conflict (id) do update set backend_pid = excluded.backend_pid, backend_start = excluded.backend_start,
       heartbeat_at = excluded.heartbeat_at`,
    [workerId, hostname(), process.pid, version],
  );
}

/** @returns false when this worker was swept. */
export async function beat(beats: Queryable, workerId: string): Promise<boolean> {
  await fault("beat.before");
  const [row] = await beats.query<{ alive: boolean }>({ name: "beat", text: "select worker_heartbeat($1) as alive" }, [
    workerId,
  ]);
  return row?.alive === true;
}

/** Which of these attempts are no longer ours: canceled, or swept and given to another worker. It waits for no lock. */
export async function findLostRuns(
  beats: Queryable,
  workerId: string,
  runs: readonly ClaimedRun[],
): Promise<Pick<ClaimedRun, "runId" | "attempt">[]> {
  const rows = await beats.query<{ id: string; attempt: number }>(
    {
      name: "worker_lost",
      text: `select d.id, d.attempt from unnest($2::uuid[], $3::uuid[], $4::int[]) d (account_id, id, attempt)
        where not exists (select 1 from runs r where r.account_id = d.account_id and r.id = d.id
          and r.attempt = d.attempt and r.worker = $1)`,
    },
    [workerId, ...columnsOf(runs)],
  );
  return rows.map(({ id, attempt }) => ({ runId: id, attempt }));
}

const RECOVERED_AT_ONCE = 500;

interface RecoveredRuns {
  readonly runIds: readonly string[];
  /** There may be more. */
  readonly isFull: boolean;
}

/** Gives a batch of the runs of lost workers back; one process does it at a time. */
export async function recoverRuns(upkeep: Queryable, leaseMs: number): Promise<RecoveredRuns> {
  await fault("sweep.before_commit");
  const rows = await upkeep.query<{ id: string }>(
    "select run_recover as id from run_recover(make_interval(secs => $1::float8 / 1000), $2)",
    [leaseMs, RECOVERED_AT_ONCE],
  );
  return { runIds: rows.map((row) => row.id), isFull: rows.length === RECOVERED_AT_ONCE };
}

const BOOT_LEASE_MS = 3_600_000;

/**
 * Embedded database only: workers of this machine whose connection is gone are dead, without waiting for a lease.
 * @returns a first batch of their runs; the others come with the sweeps.
 */
export async function recoverAtBoot(upkeep: Queryable): Promise<readonly string[]> {
  await upkeep.query("select worker_boot_sweep($1)", [hostname()]);
  return (await recoverRuns(upkeep, BOOT_LEASE_MS)).runIds;
}

/** @returns how many runs waited for a time that only a clock which stepped back explains: they may start now. */
export async function pullRunsBack(upkeep: Queryable, longestMinutes: number): Promise<number> {
  const rows = await upkeep.query("select run_reschedule(make_interval(mins => $1))", [longestMinutes]);
  return rows.length;
}

interface DueRuns {
  readonly failed: readonly string[];
  /** Looked at and not ended: locked by somebody, or broken. */
  readonly passed: readonly string[];
  readonly isFull: boolean;
  /** Why one of them cannot be ended. */
  readonly fault: string | null;
}

/** Ends a batch of runs past their time, without those that were passed over before; one process does it at a time. */
export async function endDueRuns(upkeep: Queryable, passed: readonly string[]): Promise<DueRuns> {
  const [row] = await upkeep.query<DueRuns>(
    `select failed, skipped as passed, is_full as "isFull", fault from run_fail_due($1)`,
    [passed],
  );
  return row ?? { failed: [], passed: [], isFull: false, fault: null };
}

/** Another attempt after a delay. @returns false when none is left, or the run is no longer ours. */
export async function retryRun(db: Queryable, workerId: string, run: ClaimedRun, delayMs: number): Promise<boolean> {
  const [row] = await db.query<{ given: boolean }>(
    "select run_retry($1, $2, $3, $4, make_interval(secs => $5::float8 / 1000)) as given",
    [workerId, run.accountId, run.runId, run.attempt, delayMs],
  );
  return row?.given === true;
}

/** Gives runs back without counting the attempt. @returns the ids that were still ours. */
export async function giveRunsBack(
  db: Queryable,
  workerId: string,
  runs: readonly ClaimedRun[],
  delayMs: number,
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    "select run_release as id from run_release($1, $2, $3, $4, make_interval(secs => $5::float8 / 1000))",
    [workerId, ...columnsOf(runs), delayMs],
  );
  return rows.map((row) => row.id);
}

/**
 * Gives back the runs that this worker has and does not know of: above all those of a claim whose answer was lost. Waits
 * for a claim that is still under way in the database. Call it while this worker claims nothing. @returns how many there were.
 */
export async function giveUnknownRunsBack(
  db: Queryable,
  workerId: string,
  known: readonly ClaimedRun[],
): Promise<number> {
  const [, ids, attempts] = columnsOf(known);
  const [row] = await db.query<{ given: number }>("select run_release_unknown($1, $2, $3, $4) as given", [
    workerId,
    LANE,
    ids,
    attempts,
  ]);
  return row?.given ?? 0;
}

export async function stopClaiming(db: Queryable, workerId: string): Promise<void> {
  await db.query("update workers set draining = true where id = $1", [workerId]);
}

export async function removeWorker(db: Queryable, workerId: string): Promise<void> {
  await db.query("delete from workers where id = $1", [workerId]);
}

/** The most runs of each model that may run at once in the whole installation, by the catalogue of this release. */
export async function writeModelLimits(db: Queryable, limits: ReadonlyMap<string, number>): Promise<void> {
  const models = [...limits.keys()].sort();
  await db.query(
    `insert into run_limits (scope, max_running) select 'model:' || l.model, l.runs
     from unnest($1::text[], $2::int[]) l (model, runs) order by l.model
     on conflict (scope) do update set max_running = excluded.max_running
       where run_limits.max_running <> excluded.max_running`,
    [models, models.map((model) => limits.get(model))],
  );
}

function columnsOf(runs: readonly ClaimedRun[]): [string[], string[], number[]] {
  return [runs.map((run) => run.accountId), runs.map((run) => run.runId), runs.map((run) => run.attempt)];
}
