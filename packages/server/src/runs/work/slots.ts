import { setImmediate as nextImmediate } from "node:timers/promises";
import { RunGone } from "../../models/index.ts";
import type { ClaimedRun } from "./claim.ts";

/** A run that is about to be created, as the attempt it would become. */
type Expected = Pick<ClaimedRun, "runId" | "attempt">;

interface Slot {
  readonly run: ClaimedRun;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

export interface SlotsOptions {
  readonly concurrency: number;
  /** Never rejects. */
  readonly work: (run: ClaimedRun, signal: AbortSignal) => Promise<void>;
  readonly onFreed: () => void;
}

/** The runs that this process works on. */
export class Slots {
  readonly #options: SlotsOptions;
  readonly #slots = new Map<string, Slot>();
  readonly #expected = new Map<readonly Expected[], Promise<void>>();
  #isClosed = false;

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  get free(): number {
    let reserved = 0;
    for (const runs of this.#expected.keys()) reserved += runs.length;
    return this.#options.concurrency - this.#slots.size - reserved;
  }

  get size(): number {
    return this.#slots.size;
  }

  get runs(): ClaimedRun[] {
    return [...this.#slots.values()].map((slot) => slot.run);
  }

  get isExpecting(): boolean {
    return this.#expected.size > 0;
  }

  get expected(): Expected[] {
    return [...this.#expected.keys()].flat();
  }

  /** Reserves slots for runs that may begin here. @returns a function that frees them, which must always be called. */
  expect(runs: readonly Expected[]): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#expected.set(runs, promise);
    return () => {
      this.#expected.delete(runs);
      resolve();
      this.#options.onFreed();
    };
  }

  /** Resolve when the current runs have ended and it is known which expected runs began; they never reject. */
  get ends(): Promise<void>[] {
    return [...[...this.#slots.values()].map((slot) => slot.done), ...this.#expected.values()];
  }

  begin(run: ClaimedRun): void {
    if (this.#isClosed) return; // released with the rest
    const controller = new AbortController();
    // Send the statement that creates the next runs before these runs begin their work.
    const work = nextImmediate().then(() => this.#options.work(run, controller.signal));
    const done = work.finally(() => {
      // A run that was lost and claimed again has a new slot by now, which must not be freed here.
      if (this.#slots.get(run.runId) === slot) this.#slots.delete(run.runId);
      this.#options.onFreed();
    });
    const slot = { run, controller, done };
    this.#slots.set(run.runId, slot);
  }

  /** The run was canceled, or this worker no longer owns it. @param attempt drops only this attempt; null: any. */
  drop(runId: string, attempt: number | null = null): void {
    const slot = this.#slots.get(runId);
    if (attempt === null || slot?.run.attempt === attempt) slot?.controller.abort(new RunGone());
  }

  dropAll(): void {
    for (const { controller } of this.#slots.values()) controller.abort();
  }

  /** From now on, begins no more runs. */
  close(): void {
    this.#isClosed = true;
  }
}
