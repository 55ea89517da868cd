/**
 * Writes the ends of runs in batches: one transaction makes up to 200 runs final, captures or releases their holds and
 * records their files. The fence is (worker, attempt), so a worker that lost its lease changes nothing.
 */
import type { OutputItem } from "@promptd/contract";
import type { Files, KeptFile } from "../files/index.ts";
import { fullJitterDelayMs } from "../platform/backoff.ts";
import type { Database, Tx } from "../platform/database.ts";
import { fault } from "../platform/fault.ts";
import type { Log } from "../platform/log.ts";
import type { ClaimedRun } from "./queue.ts";

export interface RunEnd {
  readonly ok: boolean;
  readonly outputs: readonly OutputItem[];
  /** Actual price; the smaller of it and the hold is captured. */
  readonly credits: number;
  /** Why it failed, for the operator; null when it succeeded. */
  readonly reason: string | null;
  readonly files: readonly KeptFile[];
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

  function flush(): void {
    timer = null;
    const batch = waiting.splice(0, BATCH_MAX);
    if (waiting.length > 0) timer = setTimeout(flush, 0);
    void writeUntilKept(batch);
  }

  async function writeUntilKept(reports: readonly Report[], attempt = 1): Promise<void> {
    const [live, lost] = splitBy(reports, (report) => !report.signal.aborted);
    for (const report of lost) report.resolve("lost");
    if (live.length === 0) return;
    try {
      const kept = await writeEnds(live, options);
      // Not kept at a later try, a run may have been made final by an earlier one whose answer was lost.
      options.onFinished(attempt === 1 ? [...kept] : live.map(({ run }) => run.runId));
      for (const report of live) report.resolve(kept.has(report.run.runId) ? "kept" : "lost");
    } catch (error) {
      options.log.warn(
        { err: error, runs: live.length, attempt },
        "the ends of runs could not be written; trying again",
      );
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
  });
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
