/**
 * The hub for followers of runs. One statement reads new text for all followers that are ready for it, one per second
 * checks for text and states whose notification was lost, and one every 20 s keeps the workers streaming. A slow
 * follower holds nothing but its position.
 */
import type { RunStatus } from "@promptd/contract";
import type { Database } from "../../platform/database/database.ts";
import { shareCalls } from "../../platform/resilience/share-calls.ts";
import type { Log } from "../../platform/log.ts";
import { isFinal } from "../run-state.ts";
import { followRuns, readPieces, readStatuses, type StoredPiece } from "../run-events-store.ts";
import type { RunOfAccount } from "../runs-store.ts";

/** `pieces` in order; `status` null: unchanged. */
export interface News {
  readonly pieces: readonly StoredPiece[];
  readonly status: RunStatus | null;
}

export interface Follower {
  /** Returns the news, or null after `waitMs` without news. Returns null at once if the follower was interrupted. */
  next(waitMs: number): Promise<News | null>;
  /** Ends the current `next` and all later ones with null. */
  interrupt(): void;
  close(): void;
}

interface Following extends RunOfAccount {
  after: string;
  status: RunStatus;
  /** There may be something to read. */
  isDue: boolean;
  isInterrupted: boolean;
  /** Null: it is not ready for news. */
  deliver: ((news: News | null) => void) | null;
}

const POLL_MS = 1_000;
const REFRESH_MS = 20_000;
const READ_TOGETHER_MAX = 500;

export class RunFollowers {
  readonly #db: Database;
  readonly #log: Log;
  readonly #following = new Set<Following>();
  readonly #byRun = new Map<string, Set<Following>>();
  #timer: NodeJS.Timeout | null = null;
  #refreshedMs = 0;
  #reading: Promise<void> | null = null;
  /** One statement at a time: otherwise an older response could arrive last, and a run would seem to go backward. */
  readonly #pollStatuses = shareCalls(() => this.#readStatuses());

  constructor(db: Database, log: Log) {
    this.#db = db;
    this.#log = log;
  }

  get size(): number {
    return this.#following.size;
  }

  /** @param from the status that the follower knows, and the id of the last piece it has. */
  follow(run: RunOfAccount, from: { readonly status: RunStatus; readonly after: string }): Follower {
    const one: Following = { ...run, ...from, isDue: true, isInterrupted: false, deliver: null };
    this.#following.add(one);
    this.#byRun.set(run.runId, (this.#byRun.get(run.runId) ?? new Set()).add(one));
    this.#timer ??= setInterval(() => this.#poll(), POLL_MS);
    if (!isFinal(from.status)) this.#refresh([run.runId]);
    return {
      next: (waitMs) => this.#next(one, waitMs),
      interrupt: () => {
        one.isInterrupted = true;
        this.#deliver(one, null);
      },
      close: () => this.#close(one),
    };
  }

  /** There may be new text for these runs; ids that nobody follows here cost nothing. */
  wake(runIds: readonly string[]): void {
    for (const runId of runIds) for (const one of this.#byRun.get(runId) ?? []) one.isDue = true;
    this.#read();
  }

  #next(one: Following, waitMs: number): Promise<News | null> {
    if (one.isInterrupted) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<News | null>();
    const timer = setTimeout(() => this.#deliver(one, null), waitMs);
    one.deliver = (news) => {
      clearTimeout(timer);
      resolve(news);
    };
    this.#read();
    return promise;
  }

  #deliver(one: Following, news: News | null): void {
    const { deliver } = one;
    one.deliver = null;
    deliver?.(news);
  }

  #close(one: Following): void {
    this.#deliver(one, null);
    this.#following.delete(one);
    const others = this.#byRun.get(one.runId);
    others?.delete(one);
    if (others?.size === 0) this.#byRun.delete(one.runId);
    if (this.#following.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Runs one statement at a time; followers that become due meanwhile are included in the next one. */
  #read(): void {
    if (this.#reading !== null) return;
    const due = [...this.#following].filter((one) => one.isDue && one.deliver !== null).slice(0, READ_TOGETHER_MAX);
    if (due.length === 0) return;
    for (const one of due) one.isDue = false;
    this.#reading = readPieces(this.#db, due)
      .then((read) => this.#hand(due, read))
      .catch((error: unknown) =>
        this.#log.debug({ err: error }, "text could not be read; the next poll is in a second"),
      )
      .finally(() => {
        this.#reading = null;
        this.#read();
      });
  }

  #hand(readers: readonly Following[], read: readonly StoredPiece[][]): void {
    for (const [index, one] of readers.entries()) {
      const pieces = read[index] ?? [];
      const last = pieces.at(-1);
      if (last === undefined) continue;
      one.isDue = true; // there may be more than one read returns, and its wait may have timed out meanwhile
      if (one.deliver === null) continue;
      one.after = last.id;
      this.#deliver(one, { pieces, status: null });
    }
  }

  #poll(): void {
    for (const one of this.#following) one.isDue = true;
    this.#read();
    void this.#pollStatuses();
    const nowMs = performance.now();
    if (nowMs - this.#refreshedMs < REFRESH_MS) return;
    this.#refreshedMs = nowMs;
    this.#refresh([...this.#byRun.keys()]);
  }

  async #readStatuses(): Promise<void> {
    const ready = [...this.#following].filter((one) => one.deliver !== null);
    if (ready.length === 0) return;
    try {
      const statuses = await readStatuses(this.#db, ready);
      for (const one of ready) {
        const status = statuses.get(one.runId) ?? one.status;
        if (status === one.status || one.deliver === null) continue;
        one.status = status;
        this.#deliver(one, { pieces: [], status });
      }
    } catch (error) {
      this.#log.debug({ err: error }, "states of followed runs could not be read; the next poll is in a second");
    }
  }

  #refresh(runIds: readonly string[]): void {
    followRuns(this.#db, runIds).catch((error: unknown) =>
      this.#log.debug({ err: error }, "a follower could not be announced; workers may not stream its run"),
    );
  }
}
