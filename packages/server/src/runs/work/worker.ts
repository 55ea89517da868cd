/**
 * The worker of a process: claims runs into its free slots, executes them, settles their outcomes, and sweeps the runs
 * of dead workers. Notifications wake it, and it also polls once a second.
 */
import { CountedCall } from "../../models/index.ts";
import type { Database } from "../../platform/database/database.ts";
import { createGauge } from "../../platform/metrics/metrics.ts";
import type { Log } from "../../platform/log.ts";
import type { Notifications } from "../../platform/database/notifications.ts";
import { settleWithin } from "../../platform/resilience/deadline.ts";
import { gatherCalls } from "../../platform/resilience/gather-calls.ts";
import type { Reservation } from "../create/create-group.ts";
import type { RunToCreate } from "../create/create-store.ts";
import type { ClaimedRun } from "./claim.ts";
import { createClaimer, type Claimer } from "./claim-loop.ts";
import { drain } from "./drain.ts";
import type { ExecuteRun } from "./execute.ts";
import type { Finisher } from "./finish.ts";
import { createLease, findLostRuns, type Lease } from "./lease.ts";
import { settle } from "./settle.ts";
import { Slots } from "./slots.ts";
import { createSweep, recoverAtBoot, type Sweep } from "./sweep.ts";

export interface WorkerOptions {
  readonly db: Database;
  /** A separate connection for heartbeats: nothing else may delay them. */
  readonly heartbeats: Database;
  /** Another connection, for work that must not wait for the pool. */
  readonly upkeep: Database;
  readonly notifications: Notifications;
  readonly log: Log;
  readonly newId: () => string;
  readonly concurrency: number;
  readonly leaseMs: number;
  /** True for the embedded database: dead workers on this machine are recognized by their connections. */
  readonly isLocalDatabase: boolean;
  readonly execute: ExecuteRun;
  readonly finisher: Finisher;
  /** Called with runs that became final outside an execution (deadline, lost worker). */
  readonly onFailed: (runIds: readonly string[]) => void;
}

const POLL_MS = 1_000;
const POLL_JITTER_MS = 200;
const GATHER_MS = 4;
/**
 * Some claims take this long on a busy machine. A new run that waits here until such a claim ends does not need a claim
 * of its own. If it were queued instead, it would wake another claim, which the next new run would meet, and so on.
 */
const QUIET_MS_MAX = 50;

const slotsByState = createGauge(
  {
    name: "promptd_worker_slots",
    help: "How many runs the worker of this process executes, and how many more it could.",
  },
  ["state"],
);

export class Worker {
  readonly #options: WorkerOptions;
  readonly #slots: Slots;
  readonly #lease: Lease;
  readonly #claimer: Claimer;
  readonly #sweep: Sweep;
  readonly #removeMetrics: () => void;
  #isDraining = false;
  #pollTimer: NodeJS.Timeout | null = null;
  readonly #claimForFreed = gatherCalls(GATHER_MS, () => this.#claimer.onFreed());

  constructor(options: WorkerOptions) {
    this.#options = options;
    const { concurrency, execute } = options;
    this.#slots = new Slots({
      concurrency,
      work: async (run, signal) => settle(run, await execute(run, signal), signal, options),
      onFreed: () => this.#onFreed(),
    });
    this.#removeMetrics = slotsByState.from(() => [
      [["used"], this.#slots.size],
      [["free"], concurrency - this.#slots.size],
    ]);
    this.#lease = createLease({
      ...options,
      onLost: () => this.#slots.dropAll(),
      onHeartbeat: (mayJudge) => this.#onHeartbeat(mayJudge),
    });
    this.#claimer = createClaimer({
      ...options,
      lease: this.#lease,
      free: () => (this.#isDraining ? 0 : this.#slots.free),
      begin: (run) => this.#slots.begin(run),
      known: () => [...this.#slots.runs, ...this.#slots.expected],
    });
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
    const { wake } = this.#claimer;
    if (this.#options.isLocalDatabase) this.#announceRequeued(await recoverAtBoot(upkeep));
    await this.#lease.start();
    notifications.listen("run_ready", wake);
    notifications.listen("run_cancel", (runIds) => runIds.forEach((runId) => this.#slots.drop(runId)));
    notifications.onGap(wake);
    const spread = (process.pid % POLL_JITTER_MS) - POLL_JITTER_MS / 2; // so that processes started together poll at different times
    this.#pollTimer = setInterval(wake, POLL_MS + spread);
    wake();
  }

  /** There may be something to claim. */
  wake(): void {
    this.#claimer.wake();
  }

  /**
   * Reserves slots for runs that this process is about to create: they begin as they are created, without a claim. Only
   * one statement at a time has them, because only one transaction at a time may claim.
   */
  async reserve(runs: readonly RunToCreate[]): Promise<Reservation | null> {
    if (!this.#mayReserve) return null;
    await settleWithin([this.#claimer.untilIdle()], QUIET_MS_MAX);
    if (!this.#mayReserve || !this.#claimer.isQuiet) return null;
    const { workerId } = this.#lease;
    const expected = runs.slice(0, this.#slots.free).map(({ runId }) => ({ runId, attempt: 1 }));
    const free = this.#slots.expect(expected);
    const sentMs = performance.now();
    return {
      lease: { workerId, leaseMs: this.#options.leaseMs, runsMax: expected.length },
      begin: (claimed) => {
        // The lease was lost meanwhile: these runs belong to the old id, and are swept with its other runs.
        if (this.#lease.workerId === workerId)
          for (const run of claimed) this.#slots.begin(toFirstAttempt(run, workerId, sentMs));
        free();
      },
      fail: () => {
        this.#claimer.suspect();
        free();
      },
    };
  }

  get #mayReserve(): boolean {
    return !this.#isDraining && this.#lease.isHeld && this.#slots.free > 0 && !this.#slots.isExpecting;
  }

  /** Lets runs finish for up to `graceMs` and releases the rest. */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    if (this.#pollTimer !== null) clearInterval(this.#pollTimer);
    const parts = { slots: this.#slots, claimer: this.#claimer, lease: this.#lease, sweep: this.#sweep };
    await drain({ ...this.#options, ...parts }, graceMs);
    this.#removeMetrics();
  }

  /** Also frees room under the limits of its account and model. Slots that free up together claim together. */
  #onFreed(): void {
    if (!this.#isDraining) this.#claimForFreed();
  }

  async #onHeartbeat(mayJudge: boolean): Promise<void> {
    // After an outage, living workers need a moment to renew. A worker that could not renew for most of a lease has
    // already dropped its own runs, so judging soon loses nothing. Waiting for a whole lease of good heartbeats left
    // the runs of dead workers waiting for 32 s (p99) where no worker lived that long (1 kill every 4 s, lease 6 s,
    // 2026-11-21).
    if (mayJudge) this.#sweep.begin();
    const { runs } = this.#slots;
    if (runs.length === 0) return;
    // By attempt: a run may have been released and claimed again while the query ran.
    for (const { runId, attempt } of await findLostRuns(this.#options.heartbeats, this.#lease.workerId, runs))
      this.#slots.drop(runId, attempt);
  }

  #announceRequeued(runIds: readonly string[]): void {
    if (runIds.length === 0) return;
    this.#options.log.warn({ runs: runIds.length }, "runs of a lost worker are queued again");
    this.#options.notifications.notify("run_ready");
    this.#claimer.wake();
  }
}

/** The run as a claim would have read it. */
function toFirstAttempt(run: RunToCreate, workerId: string, sentMs: number): ClaimedRun {
  const { accountId, runId, promptVersionId, model, hold, prices, inputs, runOptions, deadlineSeconds, firstCall } =
    run;
  return {
    accountId,
    runId,
    workerId,
    attempt: 1,
    claimedMs: performance.now(),
    deadlineMs: sentMs + deadlineSeconds * 1_000,
    promptVersionId,
    model,
    hold,
    prices,
    inputs,
    runOptions,
    counted: firstCall && new CountedCall(runId, firstCall),
  };
}
