/**
 * Writes run results in batches: one transaction makes up to 200 runs final, captures or releases their holds, and
 * records their files. Writes are fenced by (worker, attempt), so a worker that lost its lease changes nothing.
 *
 * A batch that meets a lock is split, so that it delays no other account. Each account's results go to a queue of their
 * own. That queue first tries them together, then one by one, because a single run may be locked, and then in batches
 * that grow again. An account waits for only one lock at a time.
 */
import type { Run } from "@promptd/contract";
import { setTimeout as pause } from "node:timers/promises";
import type { Files } from "../../files/index.ts";
import { createAdaptiveBatch } from "../../platform/resilience/adaptive-batch.ts";
import { createBatcher } from "../../platform/resilience/batcher.ts";
import { fullJitterDelayMs } from "../../platform/resilience/retry.ts";
import { isLockTimeout } from "../../platform/database/errors.ts";
import type { Database, Queryable, Tx } from "../../platform/database/database.ts";
import { faultPoint } from "../../platform/fault-injection.ts";
import { createFailureLog, type FailureLog, type Log } from "../../platform/log.ts";
import { ACCOUNT_LOCK_MS } from "../run-limits.ts";
import type { ClaimedRun } from "./claim.ts";
import type { RunResult } from "./run-outcome.ts";

/** `lost`: another attempt owns the run now, or it was canceled; nothing was written. */
type Finished = "written" | "lost";

export interface Finisher {
  /** Resolves after the commit. Retries database errors until `signal` says that this worker no longer owns the run. */
  finish(run: ClaimedRun, result: RunResult, signal: AbortSignal): Promise<Finished>;
}

interface Ending {
  readonly run: ClaimedRun;
  readonly result: RunResult;
  readonly signal: AbortSignal;
  readonly resolve: (finished: Finished) => void;
  /** How often it was sent to the database. */
  attempts: number;
}

const BATCH_MAX = 200;
/** Limit for batches without locks: results that arrive while one is being written go into the next one. */
const BATCHES_IN_FLIGHT_MAX = 1;
const BACKOFF = { baseMs: 100, capMs: 1_000 };

export interface FinisherOptions {
  readonly db: Database;
  readonly files: Pick<Files, "recordOutputs">;
  readonly log: Log;
  /** Called after the commit with the runs that it made final, so that waiters in this process need not read them. */
  readonly onWritten: (runs: readonly Run[]) => void;
  /** Called next, with the runs that are final or may be. */
  readonly onFinished: (runIds: readonly string[]) => void;
}

export function createFinisher(options: FinisherOptions): Finisher {
  /** By account, while results that met a lock still have to be written. */
  const lockQueues = new Map<string, Ending[]>();
  const fails = "run results cannot be written; each write is retried";
  const writes = createFailureLog(options.log, fails, "run results can be written again");

  function writeOrQueue(batch: readonly Ending[]): Promise<void> {
    const isQueued = ({ run }: Ending) => lockQueues.has(run.accountId);
    queueByAccount(batch.filter(isQueued));
    return writeTogether(batch.filter((ending) => !isQueued(ending)));
  }

  async function writeTogether(endings: readonly Ending[]): Promise<void> {
    const ours = dropLost(endings);
    if (ours.length === 0) return;
    const outcome = await tryWrite(ours, options, writes);
    if (outcome === "locked") queueByAccount(ours);
    if (outcome === "failed") retryAlone(ours);
  }

  /** A result that the database refuses must not delay the others: after a failure each result is written alone. */
  function retryAlone(endings: readonly Ending[]): void {
    const delayMs = fullJitterDelayMs(Math.max(...endings.map(({ attempts }) => attempts)), BACKOFF);
    setTimeout(() => endings.forEach((ending) => void writeTogether([ending])), delayMs);
  }

  /** Puts these in front of results that are known to fail. */
  function queueByAccount(endings: readonly Ending[]): void {
    for (const [accountId, own] of Map.groupBy(endings, ({ run }) => run.accountId)) {
      const queue = lockQueues.get(accountId);
      if (queue === undefined) void writeQueue(accountId, own);
      else queue.unshift(...own);
    }
  }

  async function writeQueue(accountId: string, queue: Ending[]): Promise<void> {
    lockQueues.set(accountId, queue);
    const batchSize = createAdaptiveBatch({ max: BATCH_MAX });
    let failures = 0;
    while (queue.length > 0) {
      queue.push(...dropLost(queue.splice(0))); // all at once: a shutdown must not wait until each one is tried
      const batch = queue.splice(0, batchSize.size);
      if (batch.length === 0) continue;
      const outcome = await tryWrite(batch, options, writes);
      if (outcome === "done") {
        batchSize.grow();
        failures = 0;
        continue;
      }
      batchSize.shrink(1); // straight to one: halving would wait for the lock eight times
      failures += 1;
      if (outcome === "failed") retryAlone(batch);
      else putBack(queue, batch);
      if (batch.length === 1) await pause(fullJitterDelayMs(failures, BACKOFF));
    }
    lockQueues.delete(accountId);
  }

  const add = createBatcher<Ending, undefined>({
    send: async (batch) => {
      await writeOrQueue(batch);
      return [];
    },
    max: BATCH_MAX,
    inFlightMax: BATCHES_IN_FLIGHT_MAX,
  });
  return {
    finish: (run, result, signal) => new Promise((resolve) => void add({ run, result, signal, resolve, attempts: 0 })),
  };
}

/** Puts a group at the front, but a single result behind the others, which may not be locked. */
function putBack(queue: Ending[], batch: readonly Ending[]): void {
  if (batch.length > 1) queue.unshift(...batch);
  else queue.push(...batch);
}

/** Resolves the ones that were lost. @returns the ones that this worker still owns. */
function dropLost(endings: readonly Ending[]): Ending[] {
  for (const { signal, resolve } of endings) if (signal.aborted) resolve("lost");
  return endings.filter(({ signal }) => !signal.aborted);
}

async function tryWrite(
  endings: readonly Ending[],
  options: FinisherOptions,
  writes: FailureLog,
): Promise<"done" | "locked" | "failed"> {
  for (const ending of endings) ending.attempts += 1;
  try {
    const written = await write(endings, options);
    writes.worked();
    setImmediate(() => answer(endings, written, options)); // send the next batch first
    return "done";
  } catch (error) {
    writes.failed(error);
    return isLockTimeout(error) ? "locked" : "failed";
  }
}

function answer(endings: readonly Ending[], written: ReadonlySet<string>, options: FinisherOptions): void {
  // If this attempt did not write the run, an earlier try whose response was lost may have made it final.
  const mayBeFinal = endings.filter(({ run, attempts }) => written.has(run.runId) || attempts > 1);
  options.onWritten(endings.filter(({ run }) => written.has(run.runId)).map(toRun));
  options.onFinished(mayBeFinal.map(({ run }) => run.runId));
  for (const { run, resolve } of endings) resolve(written.has(run.runId) ? "written" : "lost");
}

/** The run as it was written. */
function toRun({ run, result }: Ending): Run {
  const { ok, outputs, credits } = result;
  const tokens = ok && run.hold !== null ? Math.min(Math.max(credits, 0), run.hold) : 0;
  return { runId: run.runId, outputs, runStatus: ok ? "succeeded" : "failed", tokens };
}

/** @returns ids of the runs that this worker still owned and that are final now. */
async function write(endings: readonly Ending[], options: FinisherOptions): Promise<Set<string>> {
  const ofWorkers = Map.groupBy(endings, ({ run }) => run.workerId);
  const [only, ...others] = ofWorkers.keys();
  const isAlone = endings.every(({ result }) => result.files.length === 0 && !hasRare(result));
  const written =
    only !== undefined && others.length === 0 && isAlone
      ? await writeAlone(only, endings, options)
      : await writeInTransaction(ofWorkers, endings, options);
  await faultPoint("finish.after_commit");
  return written;
}

async function writeAlone(workerId: string, endings: readonly Ending[], { db }: FinisherOptions): Promise<Set<string>> {
  await faultPoint("finish.before_commit");
  return new Set(await finishRows({ query: (...statement) => db.once(...statement) }, workerId, endings));
}

/** Whatever is written with the ends commits with them. */
function writeInTransaction(
  ofWorkers: ReadonlyMap<string, readonly Ending[]>,
  endings: readonly Ending[],
  { db, files }: FinisherOptions,
): Promise<Set<string>> {
  return db.tx(
    async (tx) => {
      const ids = new Set<string>();
      for (const [workerId, own] of ofWorkers) {
        for (const id of await finishRows(tx, workerId, own)) ids.add(id);
      }
      await writeRare(
        tx,
        endings.filter(({ run, result }) => hasRare(result) && ids.has(run.runId)),
      );
      for (const { run, result } of endings) {
        if (result.files.length > 0 && ids.has(run.runId)) await files.recordOutputs(tx, run, result.files);
      }
      await faultPoint("finish.before_commit");
      return ids;
    },
    { lockTimeoutMs: ACCOUNT_LOCK_MS },
  );
}

/** Fields that few runs have, so the statement for all ends leaves them out. */
function hasRare({ answeredBy, detail }: RunResult): boolean {
  return answeredBy !== undefined || detail !== undefined;
}

/** For runs that this transaction has ended, and so holds locked. */
async function writeRare(tx: Tx, endings: readonly Ending[]): Promise<void> {
  if (endings.length === 0) return;
  await tx.query(
    `update runs r set answered_by = d.model, fail_detail = d.detail
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) d (account_id, id, model, detail)
     where r.account_id = d.account_id and r.id = d.id`,
    [
      endings.map(({ run }) => run.accountId),
      endings.map(({ run }) => run.runId),
      endings.map(({ result }) => result.answeredBy),
      endings.map(({ result }) => result.detail),
    ],
  );
}

async function finishRows(db: Queryable, workerId: string, endings: readonly Ending[]): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    {
      name: "run_finish",
      text: "select run_finish as id from run_finish($1, $2, $3, $4, $5, $6, $7::json[], $8)",
    },
    [
      workerId,
      endings.map(({ run }) => run.accountId),
      endings.map(({ run }) => run.runId),
      endings.map(({ run }) => run.attempt),
      endings.map(({ result }) => result.ok),
      endings.map(({ result }) => result.credits),
      endings.map(({ result }) => JSON.stringify(result.outputs)),
      endings.map(({ result }) => result.reason),
    ],
  );
  return rows.map((row) => row.id);
}
