/**
 * Writes the ends of runs in batches: one transaction makes up to 200 runs final, captures or releases their holds and
 * records their files. The fence is (worker, attempt), so a worker that lost its lease changes nothing.
 *
 * Where somebody keeps a lock that a batch needs, its ends are taken out of the batches, so that they hold up no other
 * account's, and each account's are tried by themselves: together, then one by one, since it may be one run that is
 * locked, and then in batches that grow again. Whatever is locked, an account waits for one lock at a time.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { OutputItem } from "@promptd/contract";
import type { Files, StoredFile } from "../../files/index.ts";
import { fullJitterDelayMs } from "../../platform/resilience/retry.ts";
import { isLockTimeout } from "../../platform/database/errors.ts";
import type { Database, Tx } from "../../platform/database/database.ts";
import { fault } from "../../platform/fault.ts";
import type { Log } from "../../platform/log.ts";
import { ACCOUNT_LOCK_MS } from "../create/account-lock-queue.ts";
import type { ClaimedRun } from "./queue.ts";

export interface RunEnd {
  readonly ok: boolean;
  readonly outputs: readonly OutputItem[];
  /** Actual price; the smaller of it and the hold is captured. */
  readonly credits: number;
  /** Why it failed, for the operator; null when it succeeded. */
  readonly reason: string | null;
  readonly files: readonly StoredFile[];
}

/** `lost`: another attempt owns the run now, or it was canceled; nothing was written. */
type Kept = "kept" | "lost";

export interface Finisher {
  /** Resolves after the commit. Database errors are tried again until `signal` says that the lease is lost. */
  finish(run: ClaimedRun, end: RunEnd, signal: AbortSignal): Promise<Kept>;
}

interface Report {
  readonly run: ClaimedRun;
  readonly end: RunEnd;
  readonly workerId: string;
  readonly signal: AbortSignal;
  readonly resolve: (kept: Kept) => void;
}

const BATCH_MAX = 200;
const GATHER_MS = 3;
const LIMITS = { lockTimeoutMs: ACCOUNT_LOCK_MS };
const RETRY = { baseMs: 100, capMs: 1_000 };

export interface FinisherOptions {
  readonly db: Database;
  readonly files: Pick<Files, "recordOutputs">;
  readonly log: Log;
  /** Id under which runs are claimed now. */
  readonly workerId: () => string;
  /** Called after the commit with the runs that are final, or may be. */
  readonly onFinished: (runIds: readonly string[]) => void;
}

export function createFinisher(options: FinisherOptions): Finisher {
  let waiting: Report[] = [];
  let timer: NodeJS.Timeout | null = null;
  const locked = createLockedEnds(options, (reports, attempt) => void writeUntilKept(reports, attempt));

  function flush(): void {
    timer = null;
    const batch = waiting.splice(0, BATCH_MAX);
    if (waiting.length > 0) timer = setTimeout(flush, 0);
    void writeUntilKept(batch.filter((report) => !locked.tookIn(report)));
  }

  async function writeUntilKept(reports: readonly Report[], attempt = 1): Promise<void> {
    const live = dropLost(reports);
    if (live.length === 0) return;
    try {
      await write(live, attempt, options);
    } catch (error) {
      warn(error, live, attempt, options.log);
      if (isLockTimeout(error)) {
        locked.take(live);
        return;
      }
      const delayMs = fullJitterDelayMs(attempt, RETRY);
      // One report that the database refuses must not hold the others up: after a failure each is written alone.
      setTimeout(() => live.forEach((report) => void writeUntilKept([report], attempt + 1)), delayMs);
    }
  }

  return {
    finish: (run, end, signal) => {
      const { promise, resolve } = Promise.withResolvers<Kept>();
      waiting.push({ run, end, signal, resolve, workerId: options.workerId() });
      if (waiting.length >= BATCH_MAX && timer !== null) {
        clearTimeout(timer);
        flush();
      } else {
        timer ??= setTimeout(flush, GATHER_MS);
      }
      return promise;
    },
  };
}

/** @param onFailed takes back what failed for another reason than a lock. */
function createLockedEnds(options: FinisherOptions, onFailed: (reports: readonly Report[], attempt: number) => void) {
  /** By account, for as long as its ends are tried. */
  const waiting = new Map<string, Report[]>();

  async function writeWhenFree(accountId: string, reports: Report[]): Promise<void> {
    waiting.set(accountId, reports);
    let size = BATCH_MAX;
    let failed = 1; // the batch that they come from
    while (reports.length > 0) {
      reports.push(...dropLost(reports.splice(0))); // all of them: a stop must not wait for the turn of each
      const next = reports.splice(0, size);
      if (next.length === 0) continue;
      try {
        await write(next, failed + 1, options);
        [size, failed] = [Math.min(2 * size, BATCH_MAX), 1];
      } catch (error) {
        warn(error, next, failed + 1, options.log);
        if (!isLockTimeout(error)) onFailed(next, failed + 1);
        else if (next.length > 1) reports.unshift(...next);
        else reports.push(...next); // behind the others, which may be free
        if (next.length === 1) await pause(fullJitterDelayMs(failed, RETRY));
        [size, failed] = [1, failed + 1];
      }
    }
    waiting.delete(accountId);
  }

  return {
    /** False: its account is not known to be locked. */
    tookIn: (report: Report): boolean => {
      const reports = waiting.get(report.run.accountId);
      reports?.unshift(report); // before those that are known to fail
      return reports !== undefined;
    },
    /** Which of their accounts is locked is not known: the first attempt of each tells. */
    take: (reports: readonly Report[]): void => {
      for (const [accountId, own] of Map.groupBy(reports, ({ run }) => run.accountId)) {
        const others = waiting.get(accountId);
        if (others === undefined) void writeWhenFree(accountId, own);
        else others.unshift(...own);
      }
    },
  };
}

/** @returns those whose lease is held; the others are told. */
function dropLost(reports: readonly Report[]): Report[] {
  const [live, lost] = splitBy(reports, (report) => !report.signal.aborted);
  for (const report of lost) report.resolve("lost");
  return live;
}

function warn(error: unknown, reports: readonly Report[], attempt: number, log: Log): void {
  log.warn({ err: error, runs: reports.length, attempt }, "the ends of runs could not be written; trying again");
}

async function write(reports: readonly Report[], attempt: number, options: FinisherOptions): Promise<void> {
  const kept = await writeEnds(reports, options);
  // Not kept at a later try, a run may have been made final by an earlier one whose answer was lost.
  options.onFinished(attempt === 1 ? [...kept] : reports.map(({ run }) => run.runId));
  for (const report of reports) report.resolve(kept.has(report.run.runId) ? "kept" : "lost");
}

/** @returns ids of the runs that were still ours and are final now. */
async function writeEnds(reports: readonly Report[], options: FinisherOptions): Promise<Set<string>> {
  const kept = await options.db.tx(async (tx) => {
    const ids = new Set<string>();
    for (const [workerId, group] of groupByWorker(reports)) {
      for (const id of await finishRows(tx, workerId, group)) ids.add(id);
    }
    for (const { run, end } of reports) {
      if (end.files.length > 0 && ids.has(run.runId)) await options.files.recordOutputs(tx, run, end.files);
    }
    await fault("finish.before_commit");
    return ids;
  }, LIMITS);
  await fault("finish.after_commit");
  return kept;
}

async function finishRows(tx: Tx, workerId: string, reports: readonly Report[]): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    {
      name: "run_finish",
      text: "select run_finish as id from run_finish($1, $2, $3, $4, $5, $6, $7::json[], $8)",
    },
    [
      workerId,
      reports.map(({ run }) => run.accountId),
      reports.map(({ run }) => run.runId),
      reports.map(({ run }) => run.attempt),
      reports.map(({ end }) => end.ok),
      reports.map(({ end }) => end.credits),
      reports.map(({ end }) => JSON.stringify(end.outputs)),
      reports.map(({ end }) => end.reason),
    ],
  );
  return rows.map((row) => row.id);
}

function groupByWorker(reports: readonly Report[]): Map<string, Report[]> {
  return Map.groupBy(reports, (report) => report.workerId);
}

function splitBy<Item>(items: readonly Item[], test: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}
