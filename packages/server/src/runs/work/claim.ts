/**
 * The statements that claim runs (runs/sql). A claim is identified by its worker and attempt, and every later statement
 * about the run is fenced by both: a worker that lost its lease can still send statements, but they change nothing.
 */
import type { CountedCall } from "../../models/index.ts";
import type { Queryable } from "../../platform/database/database.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import { codeOf } from "../../platform/reason-of.ts";
import { faultPoint } from "../../platform/fault-injection.ts";
import { orAborted } from "../../platform/resilience/deadline.ts";
import { createBodyReader } from "../large-rows.ts";
import { LANE } from "../run-limits.ts";
import { readInputs } from "../runs-store.ts";

export interface ClaimedRun {
  readonly accountId: string;
  readonly runId: string;
  /** The worker id that claimed the run; together with `attempt` it forms the fence. */
  readonly workerId: string;
  readonly attempt: number;
  /** Both use this process's monotonic clock (`performance.now()`): its wall clock may be wrong, or be changed. */
  readonly claimedMs: number;
  readonly deadlineMs: number;
  readonly promptVersionId: string;
  readonly model: string;
  /** Null: a free run. */
  readonly hold: number | null;
  readonly prices: unknown;
  /** Null: too large to come with the claim; read when the run begins. */
  readonly inputs: unknown;
  readonly runOptions: Readonly<Record<string, string>>;
  /** Its first call, if that was counted when the run was created. */
  readonly counted: CountedCall | null;
}

/** Where the next claim continues in the circle of (account, model) pairs. */
export interface ClaimCursor {
  readonly account: string;
  readonly model: string;
}

export interface Claim {
  readonly runs: readonly ClaimedRun[];
  /** Null: the circle is complete, start again. */
  readonly next: ClaimCursor | null;
  /**
   * Runs are waiting that were not claimed because of a limit or their start time. May be wrong if others took them.
   */
  readonly isMoreWaiting: boolean;
}

/** The lease expired and its runs belong to other workers: this worker needs a new id. */
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
  waiting: number;
}

export const CIRCLE_START: ClaimCursor = { account: FIRST_ID, model: "" };
const LEASE_LOST = "PD001";
/** 200 runs of this size are 8 MiB, which take 0.7 s of a statement's 5 s on a 100 Mbit/s link. */
const CLAIMED_INPUTS_BYTES_MAX = 40 * 1_024;

/** @throws LeaseLost. */
export async function claimRuns(
  db: Queryable,
  lease: { readonly workerId: string; readonly leaseMs: number },
  want: { readonly runsMax: number; readonly after: ClaimCursor },
): Promise<Claim> {
  await faultPoint("claim.before_commit");
  const sentMs = performance.now();
  const rows = await db
    .query<ClaimRow>(
      {
        name: "run_claim",
        // The time left, not the deadline itself: the database's clock may differ from this machine's.
        text: `select account_id, id, attempt, (extract(epoch from deadline_at - promptd_now()) * 1000)::float8 as left_ms,
          prompt_version_id, model, hold, prices, inputs, run_options,
          next_account, next_model, waiting
          from run_claim($1, $2, $3, $4, $5, make_interval(secs => $6::float8 / 1000), $7), run_waiting($2, $3 + 1) waiting`,
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
      throw codeOf(error) === LEASE_LOST ? new LeaseLost("This worker's lease expired.") : error;
    });
  await faultPoint("claim.after_commit");
  const last = rows.at(-1);
  const next = last?.next_account == null ? null : { account: last.next_account, model: last.next_model ?? "" };
  const runs = rows.flatMap((row) => toClaimedRun(row, lease.workerId, sentMs));
  return { runs, next, isMoreWaiting: (last?.waiting ?? 0) > runs.length };
}

function toClaimedRun(row: ClaimRow, workerId: string, sentMs: number): ClaimedRun[] {
  if (row.id === null) return [];
  return [
    {
      accountId: row.account_id,
      runId: row.id,
      workerId,
      attempt: row.attempt,
      claimedMs: performance.now(),
      deadlineMs: sentMs + row.left_ms,
      promptVersionId: row.prompt_version_id,
      model: row.model,
      hold: row.hold,
      prices: row.prices,
      inputs: row.inputs,
      runOptions: row.run_options,
      counted: null,
    },
  ];
}

/** Stands for the unknown size of inputs that a claim left out: too large to be read together with others. */
const LARGE_INPUTS_BYTES = Number.MAX_SAFE_INTEGER;

/** Reads inputs that were too large to come with the claim, one run at a time. @throws the signal's reason. */
export function createInputsReader(db: Queryable): (run: ClaimedRun, signal: AbortSignal) => Promise<unknown> {
  const readBody = createBodyReader({ bytesMax: CLAIMED_INPUTS_BYTES_MAX, readBodies: (runs) => readInputs(db, runs) });
  return async (run, signal) => {
    if (run.inputs !== null) return run.inputs;
    return orAborted(readBody({ run, bytes: LARGE_INPUTS_BYTES, isWanted: () => !signal.aborted }), signal);
  };
}

/**
 * Releases the runs that this worker holds in the database without knowing it, mainly those of a claim whose response
 * was lost. It waits for a claim that is still in progress in the database. Call it while this worker claims nothing.
 * @returns how many runs it released.
 */
export async function releaseUnknownRuns(
  db: Queryable,
  workerId: string,
  known: readonly Pick<ClaimedRun, "runId" | "attempt">[],
): Promise<number> {
  const [row] = await db.query<{ given: number }>("select run_release_unknown($1, $2, $3, $4) as given", [
    workerId,
    LANE,
    known.map((run) => run.runId),
    known.map((run) => run.attempt),
  ]);
  return row?.given ?? 0;
}

/** From then on the database refuses this worker's claims, even one that is already on its way. */
export async function stopClaiming(db: Queryable, workerId: string): Promise<void> {
  await db.query("update workers set draining = true where id = $1", [workerId]);
}
