/**
 * Final runs whose outputs are too large for the one statement that answers all waiters. They are read through the pool,
 * never on the pipelined connections, which every request enters by; in parts that take little time each, one part at
 * a time and small runs first, so that large ones hold up neither small ones nor the process.
 */
import type { Run } from "@promptd/contract";
import { isSilence, isStatementTimeout } from "../../platform/database/errors.ts";
import type { Database } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import { readRuns, type FinishedRun } from "../runs-store.ts";

export interface LargeRunsOptions {
  readonly db: Database;
  readonly log: Log;
  /** At most so much is read at once, unless one run alone is larger. */
  readonly bytesMax: number;
  /** False: nobody waits for it any more, so it need not be read. */
  readonly isAwaited: (runId: string) => boolean;
  readonly onRead: (run: Run) => void;
}

export class LargeRuns {
  readonly #options: LargeRunsOptions;
  /** Those that are still to be read, or being read. */
  readonly #runs = new Map<string, FinishedRun>();
  #isReading = false;
  #allRead: Promise<void> = Promise.resolve();

  constructor(options: LargeRunsOptions) {
    this.#options = options;
  }

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /** Resolves when nothing is left to read. */
  get allRead(): Promise<void> {
    return this.#allRead;
  }

  add(runs: readonly FinishedRun[]): void {
    for (const run of runs) if (!this.#runs.has(run.runId)) this.#runs.set(run.runId, run);
    if (!this.#isReading) this.#allRead = this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) await this.#read(batch);
    this.#isReading = false;
  }

  #nextBatch(): FinishedRun[] {
    for (const runId of this.#runs.keys()) if (!this.#options.isAwaited(runId)) this.#runs.delete(runId);
    const batch: FinishedRun[] = [];
    let bytes = 0;
    for (const run of [...this.#runs.values()].toSorted((a, b) => a.bytes - b.bytes)) {
      bytes += run.bytes;
      if (batch.length > 0 && bytes > this.#options.bytesMax) break;
      batch.push(run);
    }
    return batch;
  }

  async #read(batch: readonly FinishedRun[]): Promise<void> {
    const { db, log, bytesMax, onRead } = this.#options;
    try {
      for (const run of await readRuns(db, batch)) onRead(run);
    } catch (error) {
      if (batch.length > 1 && (isStatementTimeout(error) || isSilence(error))) {
        // One of them may be what takes so long, so from now on each is read alone.
        for (const run of batch) this.#runs.set(run.runId, { ...run, bytes: Math.max(run.bytes, bytesMax) });
        return;
      }
      log.warn({ err: error }, "large outputs could not be read; the next look finds their runs again");
    }
    for (const { runId } of batch) this.#runs.delete(runId);
  }
}
