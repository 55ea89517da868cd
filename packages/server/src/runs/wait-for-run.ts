/**
 * The hub of waiting requests. A request registers before its run is inserted, so no end of a run can be missed. Ends
 * arrive as hints (from this process or another) and are gathered for one turn of the event loop, then one query
 * answers them all; once a second the hub looks by itself, since hints may be lost. One timer ends all waits that
 * reached their time: ten thousand timers would cost more than the waits.
 */
import type { Run } from "@promptd/contract";
import type { Database } from "../platform/database.ts";
import type { Log } from "../platform/log.ts";
import { findFinishedRuns, type RunOfAccount } from "./runs-store.ts";

export interface Wait {
  /** The final run, or null when the time was over, the caller hung up or the process stops. */
  readonly finished: Promise<Run | null>;
  /** Gives the place up; `finished` resolves with null. */
  leave(): void;
}

export interface WaitRequest extends RunOfAccount {
  /** On the monotonic clock (`performance.now()`). */
  readonly untilMs: number;
  readonly signal: AbortSignal;
}

const FLOOR_MS = 1_000;
const TIMEOUT_LOOK_MS = 50;
const QUERY_RUNS_MAX = 1_000;

interface Waiter {
  readonly accountId: string;
  readonly untilMs: number;
  readonly end: (run: Run | null) => void;
}

export class WaitingHub {
  readonly #db: Database;
  readonly #log: Log;
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #woken = new Set<string>();
  #waiting = 0;
  #isDraining = false;
  #isGathering = false;
  #timer: NodeJS.Timeout | null = null;
  #lastFloorMs = 0;

  constructor(db: Database, log: Log) {
    this.#db = db;
    this.#log = log;
  }

  get waiting(): number {
    return this.#waiting;
  }

  wait(request: WaitRequest): Wait {
    if (this.#isDraining || request.signal.aborted) return { finished: Promise.resolve(null), leave: () => {} };
    const { promise, resolve } = Promise.withResolvers<Run | null>();
    const leave = () => waiter.end(null);
    const waiter: Waiter = {
      accountId: request.accountId,
      untilMs: request.untilMs,
      end: (run) => {
        if (!this.#remove(request.runId, waiter)) return;
        request.signal.removeEventListener("abort", leave);
        resolve(run);
      },
    };
    this.#add(request.runId, waiter);
    request.signal.addEventListener("abort", leave);
    return { finished: promise, leave };
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
      void this.#look(runs);
    });
  }

  /** Looks at every waiting run, after hints may have been lost. */
  lookAtAll(): void {
    void this.#look([...this.#waiters.keys()]);
  }

  /** Ends all waits at once and begins no new ones: the process stops. */
  drain(): void {
    this.#isDraining = true;
    for (const set of this.#waiters.values()) for (const waiter of set) waiter.end(null);
  }

  #add(runId: string, waiter: Waiter): void {
    const set = this.#waiters.get(runId) ?? new Set();
    this.#waiters.set(runId, set.add(waiter));
    this.#waiting += 1;
    this.#timer ??= setInterval(() => this.#onTimer(), TIMEOUT_LOOK_MS);
  }

  #remove(runId: string, waiter: Waiter): boolean {
    const set = this.#waiters.get(runId);
    if (set?.delete(waiter) !== true) return false;
    if (set.size === 0) this.#waiters.delete(runId);
    this.#waiting -= 1;
    return true;
  }

  async #look(runIds: readonly string[]): Promise<void> {
    for (let i = 0; i < runIds.length; i += QUERY_RUNS_MAX) {
      const runs = runIds.slice(i, i + QUERY_RUNS_MAX).flatMap((runId) => {
        const [first] = this.#waiters.get(runId) ?? [];
        return first === undefined ? [] : [{ accountId: first.accountId, runId }];
      });
      if (runs.length > 0) await this.#answerFinished(runs);
    }
  }

  async #answerFinished(runs: readonly RunOfAccount[]): Promise<void> {
    try {
      for (const run of await findFinishedRuns(this.#db, runs)) {
        for (const waiter of this.#waiters.get(run.runId) ?? []) waiter.end(run);
      }
    } catch (error) {
      this.#log.warn({ err: error }, "waiting runs could not be looked up; the next look is in a second");
    }
  }

  #onTimer(): void {
    const nowMs = performance.now();
    for (const set of this.#waiters.values()) for (const waiter of set) if (waiter.untilMs <= nowMs) waiter.end(null);
    if (nowMs - this.#lastFloorMs >= FLOOR_MS) {
      this.#lastFloorMs = nowMs;
      this.lookAtAll();
    }
    if (this.#waiters.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
