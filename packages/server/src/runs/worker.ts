/**
 * The worker of a process: claims runs into its free slots, executes them, gives back what it cannot finish, and sweeps
 * what other workers left behind. It is woken by hints and looks by itself once a second.
 */
import type { Database } from "../platform/database.ts";
import { fault } from "../platform/fault.ts";
import type { Log } from "../platform/log.ts";
import type { Signals } from "../platform/signals.ts";
import { executeRun, type ExecuteRunPorts } from "./execute-run.ts";
import type { Finisher, RunEnd } from "./finish-runs.ts";
import { createLease, type Lease } from "./lease.ts";
import {
  CIRCLE_START,
  claimRuns,
  findLostRuns,
  giveRunsBack,
  LeaseLost,
  retryRun,
  stopClaiming,
  sweepAtBoot,
  sweepRuns,
  type ClaimedRun,
  type Swept,
} from "./queue.ts";

export interface WorkerOptions {
  readonly db: Database;
  /** A connection of its own for beats and sweeps. */
  readonly beats: Database;
  readonly signals: Signals;
  readonly log: Log;
  readonly newId: () => string;
  readonly concurrency: number;
  readonly leaseMs: number;
  /** True for the embedded database: dead workers of this machine are known by their connections. */
  readonly isLocalDatabase: boolean;
  readonly ports: ExecuteRunPorts;
  /** Called with runs that became final outside of an execution (deadline, lost worker). */
  readonly onSwept: (runIds: readonly string[]) => void;
  readonly createFinisher: (workerId: () => string) => Finisher;
}

export interface Worker {
  start(): Promise<void>;
  /** There may be something to claim. */
  wake(): void;
  /** Stops claiming, lets runs finish for up to `graceMs`, gives the rest back, and leaves. */
  drain(graceMs: number): Promise<void>;
  readonly workerId: string;
  readonly running: number;
}

interface Slot {
  readonly run: ClaimedRun;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

const CLAIM_MAX = 200;
const POLL_MS = 1_000;
const POLL_JITTER_MS = 200;
const GATHER_MS = 4;
const RETRY_DELAY_MS = 1_000;

export function createWorker(options: WorkerOptions): Worker {
  const { db, log, signals } = options;
  const slots = new Map<string, Slot>();
  const lease = createLease({ ...options, onLost: dropAll, onBeat });
  const finisher = options.createFinisher(() => lease.workerId);
  const pump = createPump({ ...options, lease, free: () => (draining ? 0 : options.concurrency - slots.size), begin });
  let draining = false;
  let pollTimer: NodeJS.Timeout | null = null;
  let gatherTimer: NodeJS.Timeout | null = null;

  function begin(run: ClaimedRun): void {
    const controller = new AbortController();
    const done = work(run, controller.signal).finally(() => {
      slots.delete(run.runId);
      // A freed slot also frees room under the limits of its account and model; slots that free together claim together.
      gatherTimer ??= setTimeout(() => {
        gatherTimer = null;
        pump();
      }, GATHER_MS);
    });
    slots.set(run.runId, { run, controller, done });
  }

  async function work(run: ClaimedRun, signal: AbortSignal): Promise<void> {
    const { workerId } = lease;
    const startedMs = performance.now();
    try {
      const execution = await executeRun(run, options.ports, signal);
      if (execution.kind === "later") await giveRunsBack(db, workerId, [run], execution.delayMs);
      else await finish(run, execution.end, { signal, startedMs });
    } catch (error) {
      if (signal.aborted) return; // canceled, given back or no longer ours: whoever aborted has seen to the run
      log.error(
        { err: error, runId: run.runId, attempt: run.attempt },
        "a run broke; it gets another attempt if one is left",
      );
      await retryOrFail(run, workerId, { signal, startedMs });
    }
  }

  async function retryOrFail(run: ClaimedRun, workerId: string, turn: { signal: AbortSignal; startedMs: number }) {
    // When even this fails the run stays ours until the lease ends or the deadline is reached, and is swept then.
    const again = await retryRun(db, workerId, run, RETRY_DELAY_MS).catch((error: unknown) => {
      log.warn({ err: error, runId: run.runId }, "a broken run could not be given back");
      return true;
    });
    if (!again) await finish(run, BROKEN, turn);
  }

  async function finish(run: ClaimedRun, end: RunEnd, turn: { signal: AbortSignal; startedMs: number }): Promise<void> {
    const kept = await finisher.finish(run, end, turn.signal);
    const { accountId, runId, attempt, model } = run;
    const durationMs = Math.round(performance.now() - turn.startedMs);
    const status = end.ok ? "succeeded" : "failed";
    log.info({ accountId, runId, attempt, model, status, reason: end.reason, kept, durationMs }, "run finished");
  }

  function dropAll(): void {
    for (const slot of slots.values()) slot.controller.abort();
  }

  function drop(runIds: readonly string[]): void {
    for (const runId of runIds) slots.get(runId)?.controller.abort();
  }

  async function onBeat(isSteady: boolean): Promise<void> {
    const runs = [...slots.values()].map((slot) => slot.run);
    if (runs.length > 0) drop(await findLostRuns(options.beats, lease.workerId, runs));
    // After an outage every worker looks dead: only one whose own beats went through for a whole lease may judge others.
    if (isSteady) announce(await sweepRuns(options.beats, options.leaseMs));
  }

  function announce(swept: Swept): void {
    if (swept.failed.length > 0) options.onSwept(swept.failed);
    if (swept.requeued.length === 0) return;
    log.warn({ runs: swept.requeued.length }, "runs of a lost worker are queued again");
    signals.ring("run_ready");
    pump();
  }

  async function start(): Promise<void> {
    if (options.isLocalDatabase) announce(await sweepAtBoot(options.beats));
    await lease.start();
    signals.listen("run_ready", () => pump());
    signals.listen("run_cancel", drop);
    signals.onGap(pump);
    poll();
    pump();
  }

  function poll(): void {
    const spread = (process.pid % POLL_JITTER_MS) - POLL_JITTER_MS / 2; // processes started together poll apart
    pollTimer = setInterval(pump, POLL_MS + spread);
  }

  async function drain(graceMs: number): Promise<void> {
    draining = true;
    if (pollTimer !== null) clearInterval(pollTimer);
    await fault("drain.started");
    await stopClaiming(db, lease.workerId).catch((error: unknown) =>
      log.warn({ err: error }, "the worker could not mark itself as draining"),
    );
    await settleWithin(
      [...slots.values()].map((slot) => slot.done),
      graceMs,
    );
    const left = [...slots.values()];
    if (left.length > 0) {
      const given = await giveRunsBack(
        db,
        lease.workerId,
        left.map((slot) => slot.run),
        0,
      ).catch(() => []);
      log.info({ given: given.length, running: left.length }, "runs that did not finish in time were given back");
      dropAll();
      await Promise.all(left.map((slot) => slot.done));
      signals.ring("run_ready");
    }
    if (gatherTimer !== null) clearTimeout(gatherTimer);
    await lease.stop();
  }

  return {
    start,
    wake: pump,
    drain,
    get workerId() {
      return lease.workerId;
    },
    get running() {
      return slots.size;
    },
  };
}

const BROKEN: RunEnd = {
  ok: false,
  outputs: [{ type: "error", data: "The run could not be completed. You were not charged." }],
  credits: 0,
  reason: "broken",
  files: [],
};

interface PumpOptions {
  readonly db: Database;
  readonly log: Log;
  readonly lease: Lease;
  readonly leaseMs: number;
  readonly free: () => number;
  readonly begin: (run: ClaimedRun) => void;
}

/**
 * Claims until the slots are full or a whole circle over the waiting accounts brought nothing more. One claim is under
 * way at a time; a call during it makes it look once more.
 */
function createPump(options: PumpOptions): () => void {
  let isPumping = false;
  let again = false;
  let cursor = CIRCLE_START;

  async function claimAll(): Promise<void> {
    let fromStart = cursor === CIRCLE_START;
    while (options.free() > 0 && options.lease.isHeld) {
      const runsMax = Math.min(options.free(), CLAIM_MAX);
      const { workerId } = options.lease;
      const claim = await claimRuns(options.db, { workerId, leaseMs: options.leaseMs }, { runsMax, after: cursor });
      for (const run of claim.runs) options.begin(run);
      cursor = claim.next ?? CIRCLE_START;
      if (claim.next !== null) continue;
      if (fromStart && claim.runs.length < runsMax) return;
      fromStart = true;
    }
  }
  async function run(): Promise<void> {
    isPumping = true;
    do {
      again = false;
      await claimAll().catch((error: unknown) => {
        if (!(error instanceof LeaseLost))
          options.log.warn({ err: error }, "runs could not be claimed; the next try is in a second");
      });
    } while (again);
    isPumping = false;
  }
  return () => {
    if (isPumping) again = true;
    else void run();
  };
}

/** Resolves when all are settled or the time is over, whichever is first. */
async function settleWithin(work: readonly Promise<void>[], graceMs: number): Promise<void> {
  if (work.length === 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, graceMs);
  await Promise.race([Promise.allSettled(work), promise]);
  clearTimeout(timer);
}
