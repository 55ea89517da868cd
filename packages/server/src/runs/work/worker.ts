/**
 * The worker of a process: claims runs into its free slots, executes them, gives back what it cannot finish, and has
 * swept what other workers left behind. It is woken by hints and looks by itself once a second.
 */
import { setTimeout as wait } from "node:timers/promises";
import { fullJitterDelayMs } from "../../platform/resilience/retry.ts";
import type { Database } from "../../platform/database/database.ts";
import { isOutage } from "../../platform/database/errors.ts";
import { fault } from "../../platform/fault.ts";
import type { Log } from "../../platform/log.ts";
import type { Notifications } from "../../platform/database/notifications.ts";
import { executeRun, type ExecuteRunPorts } from "./execute-run.ts";
import { RunGone } from "../../models/index.ts";
import type { Finisher, RunEnd } from "./finish-runs.ts";
import { createLease, type Lease } from "./lease.ts";
import { createPump, type Pump } from "./claim-pump.ts";
import {
  findLostRuns,
  giveRunsBack,
  giveUnknownRunsBack,
  recoverAtBoot,
  retryRun,
  stopClaiming,
  type ClaimedRun,
} from "./queue.ts";
import { createInputsReader, type ReadInputs } from "./inputs-reader.ts";
import { createSweep, type Sweep } from "./sweep.ts";

export interface WorkerOptions {
  readonly db: Database;
  /** A connection of its own for beats: nothing else may delay them. */
  readonly beats: Database;
  /** Another one for what must not wait for a place in the pool. */
  readonly upkeep: Database;
  readonly notifications: Notifications;
  readonly log: Log;
  readonly newId: () => string;
  readonly concurrency: number;
  readonly leaseMs: number;
  /** True for the embedded database: dead workers of this machine are known by their connections. */
  readonly isLocalDatabase: boolean;
  readonly ports: ExecuteRunPorts;
  /** Called with runs that became final outside of an execution (deadline, lost worker). */
  readonly onFailed: (runIds: readonly string[]) => void;
  readonly createFinisher: (workerId: () => string) => Finisher;
}

interface Slot {
  readonly run: ClaimedRun;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

interface Turn {
  readonly signal: AbortSignal;
  readonly startedMs: number;
}

const POLL_MS = 1_000;
const POLL_JITTER_MS = 200;
const GATHER_MS = 4;
/** For giving back what is left, and once more for taking leave. */
const LEAVE_MS = 5_000;
const RETRY_DELAY_MS = 1_000;
const GIVE_BACK_BACKOFF = { baseMs: 200, capMs: 2_000 };

const BROKEN: RunEnd = {
  ok: false,
  outputs: [{ type: "error", data: "The run could not be completed. You were not charged." }],
  credits: 0,
  reason: "broken",
  files: [],
};

export class Worker {
  readonly #options: WorkerOptions;
  readonly #slots = new Map<string, Slot>();
  readonly #lease: Lease;
  readonly #finisher: Finisher;
  readonly #pump: () => void;
  readonly #claims: Pump;
  readonly #readInputs: ReadInputs;
  readonly #sweep: Sweep;
  #isDraining = false;
  #hasLeft = false;
  #pollTimer: NodeJS.Timeout | null = null;
  #gatherTimer: NodeJS.Timeout | null = null;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#lease = createLease({
      ...options,
      onLost: () => this.#dropAll(),
      onBeat: (mayJudge) => this.#onBeat(mayJudge),
    });
    this.#finisher = options.createFinisher(() => this.#lease.workerId);
    this.#claims = createPump({
      ...options,
      lease: this.#lease,
      free: () => (this.#isDraining ? 0 : options.concurrency - this.#slots.size),
      begin: (run) => this.#begin(run),
      known: () => this.#runs(),
    });
    this.#pump = this.#claims.pump;
    this.#readInputs = createInputsReader(options.db);
    this.#sweep = createSweep({ ...options, onRequeued: (runIds) => this.#announceRequeued(runIds) });
  }

  get workerId(): string {
    return this.#lease.workerId;
  }

  get running(): number {
    return this.#slots.size;
  }

  async start(): Promise<void> {
    const { notifications, upkeep } = this.#options;
    if (this.#options.isLocalDatabase) this.#announceRequeued(await recoverAtBoot(upkeep));
    await this.#lease.start();
    notifications.listen("run_ready", () => this.#pump());
    notifications.listen("run_cancel", (runIds) => runIds.forEach((runId) => this.#drop(runId)));
    notifications.onGap(this.#pump);
    const spread = (process.pid % POLL_JITTER_MS) - POLL_JITTER_MS / 2; // processes started together look apart
    this.#pollTimer = setInterval(this.#pump, POLL_MS + spread);
    this.#pump();
  }

  /** There may be something to claim. */
  wake(): void {
    this.#pump();
  }

  /**
   * Stops claiming, lets runs finish for up to `graceMs` from now, gives the rest back, and leaves. However slow the
   * database is, it takes no longer than the grace and twice `LEAVE_MS`.
   */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    if (this.#pollTimer !== null) clearInterval(this.#pollTimer);
    const stopped = this.#stopClaiming();
    await settleWithin([stopped.then(() => this.#untilAllEnded())], graceMs);
    this.#hasLeft = true;
    await settleWithin([stopped.then(() => this.#giveAllBack())], LEAVE_MS);
    this.#dropAll();
    if (this.#gatherTimer !== null) clearTimeout(this.#gatherTimer);
    const ends = [...this.#slots.values()].map((slot) => slot.done);
    await settleWithin([...ends, this.#lease.stop(), this.#sweep.untilIdle()], LEAVE_MS);
  }

  /** From then on the database refuses a claim of this worker, also one that is still on its way there. */
  async #stopClaiming(): Promise<void> {
    await fault("drain.started");
    await stopClaiming(this.#options.upkeep, this.#lease.workerId).catch((error: unknown) =>
      this.#options.log.warn({ err: error }, "the worker could not mark itself as draining"),
    );
  }

  async #untilAllEnded(): Promise<void> {
    await this.#claims.untilIdle(); // a claim that was under way may still bring runs in
    await Promise.all([...this.#slots.values()].map((slot) => slot.done));
  }

  /** Whatever this worker has in the database, also what a claim brings in later than its grace. */
  async #giveAllBack(): Promise<void> {
    const { upkeep, log, notifications } = this.#options;
    try {
      const given = await giveUnknownRunsBack(upkeep, this.#lease.workerId, []);
      if (given === 0) return;
      log.info({ given, running: this.#slots.size }, "runs that did not finish in time were given back");
      notifications.notify("run_ready");
    } catch (error) {
      log.warn({ err: error }, "runs that did not finish in time are swept when the lease ends");
    }
  }

  #begin(run: ClaimedRun): void {
    if (this.#hasLeft) return; // given back with the rest
    const controller = new AbortController();
    const done = this.#work(run, controller.signal).finally(() => {
      // A run that was lost and claimed again has another slot by now, whose place this end must not take.
      if (this.#slots.get(run.runId) === slot) this.#slots.delete(run.runId);
      // A freed slot also frees room under the limits of its account and model; slots that free together claim together.
      this.#gatherTimer ??= setTimeout(() => {
        this.#gatherTimer = null;
        this.#pump();
      }, GATHER_MS);
    });
    const slot = { run, controller, done };
    this.#slots.set(run.runId, slot);
  }

  async #work(run: ClaimedRun, signal: AbortSignal): Promise<void> {
    const { workerId } = this.#lease;
    const turn = { signal, startedMs: performance.now() };
    try {
      const execution = await executeRun(await this.#readInputs(run, signal), this.#options.ports, signal);
      if (execution.kind === "ended") await this.#finish(run, execution.end, turn);
      else await giveRunsBack(this.#options.db, workerId, [run], execution.delayMs);
    } catch (error) {
      if (signal.aborted) return; // canceled, given back or no longer ours: whoever aborted has seen to the run
      const { runId, attempt } = run;
      if (isOutage(error)) {
        this.#options.log.warn({ err: error, runId, attempt }, "the database failed a run; it is given back");
        // The database's fault and not the run's: no attempt is counted.
        return this.#untilKnown(run, turn, () => giveRunsBack(this.#options.db, workerId, [run], RETRY_DELAY_MS));
      }
      this.#options.log.error({ err: error, runId, attempt }, "a run broke; it gets another attempt if one is left");
      await this.#untilKnown(run, turn, async () => {
        if (!(await retryRun(this.#options.db, workerId, run, RETRY_DELAY_MS))) await this.#finish(run, BROKEN, turn);
      });
    }
  }

  /** Tries again and again: this worker lives, so no sweep would free a run that it failed to give back. */
  async #untilKnown(run: ClaimedRun, turn: Turn, settle: () => Promise<unknown>): Promise<void> {
    for (let attempt = 1; !turn.signal.aborted; attempt += 1) {
      try {
        await settle();
        return;
      } catch (error) {
        this.#options.log.warn({ err: error, runId: run.runId }, "a broken run could not be given back; trying again");
        await wait(fullJitterDelayMs(attempt, GIVE_BACK_BACKOFF));
      }
    }
  }

  async #finish(run: ClaimedRun, end: RunEnd, turn: Turn): Promise<void> {
    const kept = await this.#finisher.finish(run, end, turn.signal);
    const { accountId, runId, attempt, model } = run;
    const durationMs = Math.round(performance.now() - turn.startedMs);
    const status = end.ok ? "succeeded" : "failed";
    this.#options.log.info(
      { accountId, runId, attempt, model, status, reason: end.reason, isOurs: kept === "kept", durationMs },
      "run finished",
    );
  }

  #runs(): ClaimedRun[] {
    return [...this.#slots.values()].map((slot) => slot.run);
  }

  #dropAll(): void {
    for (const slot of this.#slots.values()) slot.controller.abort();
  }

  /** Canceled by its caller, or no longer ours. */
  #drop(runId: string): void {
    this.#slots.get(runId)?.controller.abort(new RunGone());
  }

  /** By attempt: a run may have been given back and claimed again while the database was asked. */
  async #dropLost(): Promise<void> {
    const runs = this.#runs();
    if (runs.length === 0) return;
    for (const { runId, attempt } of await findLostRuns(this.#options.beats, this.#lease.workerId, runs)) {
      if (this.#slots.get(runId)?.run.attempt === attempt) this.#drop(runId);
    }
  }

  async #onBeat(mayJudge: boolean): Promise<void> {
    // After an outage those that live need a moment to beat again. Whoever could not for most of a lease has dropped its
    // runs by itself, so nothing is lost by judging soon; waiting for a whole lease of good beats left the runs of dead
    // workers lying for 32 s (p99) where no worker lived that long (1 kill in 4 s, lease 6 s, measured 2026-11-21).
    if (mayJudge) this.#sweep.begin();
    await this.#dropLost();
  }

  #announceRequeued(runIds: readonly string[]): void {
    if (runIds.length === 0) return;
    this.#options.log.warn({ runs: runIds.length }, "runs of a lost worker are queued again");
    this.#options.notifications.notify("run_ready");
    this.#pump();
  }
}

/** Resolves when all are settled or the time is over, whichever is first. */
async function settleWithin(work: readonly Promise<void>[], graceMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, graceMs);
  await Promise.race([Promise.allSettled(work), promise]);
  clearTimeout(timer);
}
