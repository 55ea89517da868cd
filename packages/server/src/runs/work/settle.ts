/**
 * Writes the outcome of one attempt at a run. All writes are fenced by (worker, attempt).
 *
 * | outcome     | attempts left | status              | money                      | next owner                          |
 * |-------------|---------------|---------------------|----------------------------|-------------------------------------|
 * | finished    | any           | succeeded or failed | captured; a failure: freed | none                                |
 * | postponed   | any           | running             | held                       | any worker after the delay, uncounted |
 * | interrupted | any           | running             | held                       | any worker after 1 s, uncounted     |
 * | crashed     | some          | running             | held                       | any worker after 1 s, counted       |
 * | crashed     | none          | failed              | freed                      | none                                |
 * | revoked     | any           | written already by the cancel, the sweep or the drain that revoked it                 |||
 *
 * Uncounted: the run gets one more attempt. settle.test.ts checks this table against the real database.
 */
import type { Database, Queryable } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import { createCounter, createHistogram } from "../../platform/metrics/metrics.ts";
import { retry } from "../../platform/resilience/retry.ts";
import { runEnds } from "../run-metrics.ts";
import type { ClaimedRun } from "./claim.ts";
import type { Finisher } from "./finish.ts";
import { failed, type RunOutcome, type RunResult } from "./run-outcome.ts";

export interface SettleOptions {
  readonly db: Database;
  readonly log: Log;
  readonly finisher: Finisher;
}

const RETRY_DELAY_MS = 1_000;
const BACKOFF = { baseMs: 200, capMs: 2_000 };
const CRASHED = failed("broken", "The run could not be completed. You were not charged.");

const attempts = createCounter(
  { name: "promptd_run_attempts_total", help: "Attempts at runs that ended in this process, by outcome." },
  ["outcome"],
);
const durations = createHistogram(
  {
    name: "promptd_run_duration_seconds",
    help: "Time from the claim of a run to its end, of the runs that this process executed.",
    buckets: [0.1, 0.5, 2.5, 10, 30, 120, 600],
  },
  ["status"],
);

/** Never throws. @param signal once aborted, the code that aborted it has settled the run. */
export async function settle(
  run: ClaimedRun,
  outcome: RunOutcome,
  signal: AbortSignal,
  options: SettleOptions,
): Promise<void> {
  if (signal.aborted) return;
  const { db, log } = options;
  const { runId, attempt } = run;
  attempts.add([outcome.kind]);
  switch (outcome.kind) {
    case "finished":
      return finish(run, outcome.result, signal, options);
    case "postponed":
      return writeUntilKnown(() => releaseRun(db, run, outcome.delayMs), runId, signal, log);
    case "interrupted":
      log.warn({ err: outcome.error, runId, attempt }, "the database failed during a run; the run is released");
      return writeUntilKnown(() => releaseRun(db, run, RETRY_DELAY_MS), runId, signal, log);
    case "crashed": {
      log.error({ err: outcome.error, runId, attempt }, "a run crashed; it gets another attempt if one is left");
      const retryOrFail = async () => {
        if (!(await retryRun(db, run, RETRY_DELAY_MS))) await finish(run, CRASHED.result, signal, options);
      };
      return writeUntilKnown(retryOrFail, runId, signal, log);
    }
    case "revoked":
      return undefined;
  }
}

/**
 * This worker is alive, so no sweep would ever free a run that it failed to release: it retries while it owns the run.
 */
async function writeUntilKnown(
  write: () => Promise<unknown>,
  runId: string,
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  const onRetry = (error: unknown) => log.warn({ err: error, runId }, "a run could not be released; retrying");
  await retry(write, { on: () => true, backoff: BACKOFF, signal, onRetry }).catch(() => {}); // fails only when aborted
}

async function finish(
  run: ClaimedRun,
  result: RunResult,
  signal: AbortSignal,
  { finisher, log }: SettleOptions,
): Promise<void> {
  const finished = await finisher.finish(run, result, signal);
  const { accountId, runId, attempt, model } = run;
  const durationMs = Math.round(performance.now() - run.claimedMs);
  const status = result.ok ? "succeeded" : "failed";
  if (finished === "written") {
    runEnds.add([status, result.reason ?? "none"]);
    durations.observe([status], durationMs / 1_000);
  }
  log.info(
    { accountId, runId, attempt, model, status, reason: result.reason, isOurs: finished === "written", durationMs },
    "run finished",
  );
}

/**
 * Schedules another attempt after a delay. @returns false if none is left, or if this worker no longer owns the run.
 */
export async function retryRun(db: Queryable, run: ClaimedRun, delayMs: number): Promise<boolean> {
  const [row] = await db.query<{ given: boolean }>(
    "select run_retry($1, $2, $3, $4, make_interval(secs => $5::float8 / 1000)) as given",
    [run.workerId, run.accountId, run.runId, run.attempt, delayMs],
  );
  return row?.given === true;
}

/**
 * Offers the run to any worker after a delay, without counting an attempt. @returns false if this worker no longer owns
 * the run.
 */
export async function releaseRun(db: Queryable, run: ClaimedRun, delayMs: number): Promise<boolean> {
  const rows = await db.query("select run_release($1, $2, $3, $4, make_interval(secs => $5::float8 / 1000))", [
    run.workerId,
    [run.accountId],
    [run.runId],
    [run.attempt],
    delayMs,
  ]);
  return rows.length === 1;
}
