/**
 * The hub of waiting requests. A request registers before its run is inserted, so it cannot miss the run's end. Ends
 * arrive from this process's worker with the run itself, or from other processes as notifications. Notifications are
 * gathered for one iteration of the event loop, then one query answers them all. The hub also polls once a second,
 * because notifications may be lost. Outputs too large for that query are read afterwards, in parts. One timer ends all
 * waits that time out, after a last poll: ten thousand timers would cost more than the waits.
 */
import type { Run } from "@promptd/contract";
import type { Database } from "../../platform/database/database.ts";
import { createFailureLog, type FailureLog, type Log } from "../../platform/log.ts";
import { settleWithin } from "../../platform/resilience/deadline.ts";
import { createBodyReader, type ReadBody } from "../large-rows.ts";
import { findFinishedRuns, readRuns, type FinishedRun, type RunOfAccount } from "../runs-store.ts";

export interface Wait {
  /** The final run, or null if the wait timed out, was canceled, or ended because the process is shutting down. */
  readonly finished: Promise<Run | null>;
  /** Makes `finished` resolve with null. */
  cancel(): void;
}

export interface WaitRequest extends RunOfAccount {
  /** On the monotonic clock (`performance.now()`). */
  readonly untilMs: number;
}

const POLL_MS = 1_000;
const TIMER_MS = 50;
/** A caller gets a response within a second after its wait ends, even if the database does not respond. */
const LAST_POLL_MS_MAX = 300;
const QUERY_RUNS_MAX = 1_000;
/** Total size of outputs in one statement: a few milliseconds for the event loop and the queries behind it. */
const QUERY_BYTES_MAX = 4 * 2 ** 20;

interface Waiter {
  readonly accountId: string;
  readonly untilMs: number;
  readonly resolve: (run: Run | null) => void;
}

export class WaitingHub {
  readonly #db: Database;
  readonly #log: Log;
  readonly #failures: FailureLog;
  /** By run. Nearly every run has one waiter, so this is an array: a set would be four times as large. */
  readonly #waiters = new Map<string, readonly Waiter[]>();
  readonly #woken = new Set<string>();
  #waiting = 0;
  #isDraining = false;
  readonly #readRun: ReadBody<Run>;
  /** Runs with large outputs that are being read. */
  readonly #reads = new Map<string, Promise<void>>();
  #isGathering = false;
  #isPollingAll = false;
  #isPollingDue = false;
  #timer: NodeJS.Timeout | null = null;
  #polledMs = 0;
  readonly #pollMs: number;

  /** @param pollMs in tests: how often the hub polls. */
  constructor(db: Database, log: Log, pollMs = POLL_MS) {
    this.#db = db;
    this.#log = log;
    const fails = "waiting runs cannot be read; retrying every second";
    this.#failures = createFailureLog(log, fails, "waiting runs can be read again");
    this.#pollMs = pollMs;
    this.#readRun = createBodyReader({ bytesMax: QUERY_BYTES_MAX, readBodies: (runs) => readRuns(db, runs) });
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** True: the process is shutting down, and nobody waits here any longer. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  wait({ accountId, runId, untilMs }: WaitRequest): Wait {
    if (this.#isDraining) return { finished: Promise.resolve(null), cancel: () => {} };
    const { promise, resolve } = Promise.withResolvers<Run | null>();
    const waiter: Waiter = { accountId, untilMs, resolve };
    this.#waiters.set(runId, this.#waitersOf(runId).concat(waiter)); // exactly the needed length; push would allocate 17
    this.#waiting += 1;
    this.#timer ??= setInterval(() => this.#onTimer(), TIMER_MS);
    return { finished: promise, cancel: () => this.#end(runId, null, (other) => other === waiter) };
  }

  /** These runs are final. */
  deliver(runs: readonly Run[]): void {
    for (const run of runs) this.#end(run.runId, run, () => true);
  }

  /** These runs may be final now; ids that nobody waits for cost nothing. */
  wake(runIds: readonly string[]): void {
    for (const runId of runIds) if (this.#waiters.has(runId)) this.#woken.add(runId);
    if (this.#woken.size === 0 || this.#isGathering) return;
    this.#isGathering = true;
    setImmediate(() => {
      this.#isGathering = false;
      const runs = [...this.#woken];
      this.#woken.clear();
      void this.#poll(runs);
    });
  }

  /** Polls every waiting run when the timer next fires, or after the current poll: notifications may have been lost. */
  pollAll(): void {
    this.#polledMs = -Infinity;
  }

  /** Ends all waits at once and accepts no new ones: the process is shutting down. */
  drain(): void {
    this.#isDraining = true;
    this.#endAll(() => true);
  }

  #waitersOf(runId: string): readonly Waiter[] {
    return this.#waiters.get(runId) ?? [];
  }

  /** Ends the waits for a run that `isSelected` selects. */
  #end(runId: string, run: Run | null, isSelected: (waiter: Waiter) => boolean): void {
    const waiters = this.#waitersOf(runId);
    const ended = waiters.filter(isSelected);
    if (ended.length === waiters.length) this.#waiters.delete(runId);
    else if (ended.length > 0)
      this.#waiters.set(
        runId,
        waiters.filter((waiter) => !ended.includes(waiter)),
      );
    this.#waiting -= ended.length;
    for (const waiter of ended) waiter.resolve(run);
  }

  #endAll(isSelected: (waiter: Waiter) => boolean): void {
    for (const [runId, waiters] of this.#waiters) if (waiters.some(isSelected)) this.#end(runId, null, isSelected);
  }

  async #poll(runIds: readonly string[]): Promise<void> {
    for (let i = 0; i < runIds.length; i += QUERY_RUNS_MAX) {
      const runs = runIds.slice(i, i + QUERY_RUNS_MAX).flatMap((runId) => {
        const [first] = this.#waitersOf(runId);
        return first === undefined || this.#reads.has(runId) ? [] : [{ accountId: first.accountId, runId }];
      });
      if (runs.length > 0) await this.#answerFinished(runs);
    }
  }

  async #answerFinished(runs: readonly RunOfAccount[]): Promise<void> {
    try {
      const { read, unread } = await findFinishedRuns(this.#db, runs, QUERY_BYTES_MAX);
      this.#failures.worked();
      for (const run of read) this.#end(run.runId, run, () => true);
      for (const run of unread) this.#readLarge(run);
    } catch (error) {
      this.#failures.failed(error);
    }
  }

  #readLarge({ accountId, runId, bytes }: FinishedRun): void {
    const isWanted = () => this.#waiters.has(runId);
    const read = this.#readRun({ run: { accountId, runId }, bytes, isWanted })
      .then((run) => run !== null && this.#end(runId, run, () => true))
      .catch((error: unknown) =>
        this.#log.warn({ err: error, runId }, "large outputs could not be read; retrying in a second"),
      )
      .then(() => void this.#reads.delete(runId));
    this.#reads.set(runId, read);
  }

  /** Ends the waits that timed out. A last poll first checks whether their runs are final. */
  async #endDue(nowMs: number): Promise<void> {
    if (this.#isPollingDue) return;
    const isDue = (waiter: Waiter) => waiter.untilMs <= nowMs;
    const due: string[] = [];
    for (const [runId, waiters] of this.#waiters) if (waiters.some(isDue)) due.push(runId);
    if (due.length === 0) return;
    this.#isPollingDue = true;
    await settleWithin([this.#pollDue(due)], LAST_POLL_MS_MAX);
    this.#isPollingDue = false;
    this.#endAll(isDue);
  }

  async #pollDue(runIds: readonly string[]): Promise<void> {
    await this.#poll(runIds);
    await Promise.all(runIds.flatMap((runId) => this.#reads.get(runId) ?? []));
  }

  /** One poll at a time: a slow database is not asked again before it has responded. */
  async #pollAllWhenDue(nowMs: number): Promise<void> {
    if (this.#isPollingAll || nowMs - this.#polledMs < this.#pollMs) return;
    this.#polledMs = nowMs;
    this.#isPollingAll = true;
    await this.#poll([...this.#waiters.keys()]);
    this.#isPollingAll = false;
  }

  #onTimer(): void {
    const nowMs = performance.now();
    void this.#endDue(nowMs);
    void this.#pollAllWhenDue(nowMs);
    if (this.#waiters.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
