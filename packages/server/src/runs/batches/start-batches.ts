/**
 * Starts the items of batches, a few at a time, in the same way as POST /v1/runs. It works in shifts: one process of
 * the installation wins a tick and serves all batches until the tick is due again. Even if two processes did so at
 * once, an item would get only one run: the transaction that creates the run locks and writes the item's row.
 */
import type { BatchPause, ErrorCode } from "@promptd/contract";
import { findAccount, planRequired } from "../../accounts/index.ts";
import { codeOf } from "../../platform/reason-of.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import { createFailureLog, type FailureLog, type Log } from "../../platform/log.ts";
import { Problem } from "../../platform/problem.ts";
import { settleWithin, sleep } from "../../platform/resilience/deadline.ts";
import { createSemaphore, type Semaphore } from "../../platform/resilience/semaphore.ts";
import type { Tick } from "../../platform/periodic-work.ts";
import { createRun, type CreateRunOptions } from "../create/create-run.ts";
import type { CancelOptions } from "../cancel-run.ts";
import { cancelRunsOf } from "./cancel-batch.ts";
import { listWaitingItems, NOT_TO_START, readItemInputs, refuseItem, startItem } from "./batch-items-store.ts";
import { collectBatch, listOpenBatches, pauseBatch, unpauseBatch, type OpenBatch } from "./batches-store.ts";
import { issuesOf } from "./check-items.ts";

export interface BatchStarterOptions extends CancelOptions {
  readonly create: CreateRunOptions;
  /** False: no plan is required. */
  readonly plans: boolean;
  readonly newId: () => string;
  readonly log: Log;
  /** A run was created and committed: wake the workers. */
  readonly onCreated: () => void;
}

export interface BatchStarter {
  readonly tick: Tick;
  /** Call it when there may be something to do. */
  readonly wake: () => void;
  /** Call it when a run has ended; it may belong to a batch. */
  readonly onRunDone: () => void;
}

/** Also how long batches pause when the process that serves them is killed. */
const SHIFT_SECONDS = 3;
/** Polling finds batches created by other processes, and batches whose pause is over. */
const POLL_MS = 1_000;
/** Used while batches run; the ends of runs wake it too. */
const BUSY_POLL_MS = 200;
/** Runs that end at about the same time are handled together. */
const GATHER_MS = 20;
/** For all accounts together. The pool has eight connections. */
const CREATES_AT_ONCE = 4;
/** Limit for stored inputs in memory. An item with its images may exceed it, and is then started alone. */
const INPUTS_BYTES_MAX = 8 * 2 ** 20;
/** How long to leave an account alone after one of its batches hit an error, such as an unavailable file store. */
const REST_MS = 5_000;
/** Enough for every account that has batches now, and for every batch that fails. */
const REMEMBERED_MAX = 10_000;
/**
 * The most runs of an account's batches that may be waiting for a worker. Enough that the next run is ready even if
 * each takes only a second, but few, because a single run of the same account and model is claimed after them.
 */
const WAITING_MAX = 4;

export function createBatchStarter(options: BatchStarterOptions): BatchStarter {
  const starting = new Map<string, Promise<void>>();
  const lastOf = new Map<string, string>();
  const creates = createSemaphore({ permits: CREATES_AT_ONCE });
  const memory = createSemaphore({ permits: INPUTS_BYTES_MAX });
  let cursor = FIRST_ID;
  let alarm = Promise.withResolvers<void>();
  let isBusy = false;
  const rests = createRests(options.log);
  const wake = (): void => alarm.resolve();

  /** One operation at a time per account. A slow account delays no other. */
  function begin(batch: OpenBatch, work: () => Promise<void>): void {
    const { accountId } = batch;
    const started = creates
      .run(work)
      .then(
        () => rests.worked(batch),
        (error: unknown) => rests.failed(batch, error),
      )
      .finally(() => starting.delete(accountId));
    starting.set(accountId, started);
  }

  /** Does what can be done now for an account. */
  function serve(accountId: string, batches: readonly OpenBatch[], stop: AbortSignal | undefined): void {
    if (starting.has(accountId)) return;
    const canceled = batches.find(({ status, unfinished }) => status === "canceled" && unfinished > 0);
    if (canceled !== undefined) return begin(canceled, () => cancelRunsOf(canceled, options));
    if (rests.isResting(accountId)) return;
    const batch = nextDue(batches, lastOf.get(accountId));
    const room = roomOf(batches, options.create.activeRunsMax);
    if (batch === null || room < 1) return;
    remember(lastOf, accountId, batch.batchId);
    begin(batch, () => startItems(batch, batch.status === "paused" ? 1 : room, { ...options, memory, stop }));
  }

  /** @returns whether there are batches to serve. */
  async function pass(stop: AbortSignal | undefined): Promise<boolean> {
    const { db } = options.create;
    const busy = new Set(starting.keys()); // the query below may not count what they are starting now
    const { batches: open, next } = await listOpenBatches(db, cursor);
    cursor = next ?? FIRST_ID;
    for (const batch of open) if (batch.isToCollect) await collectBatch(db, batch);
    for (const [accountId, batches] of Map.groupBy(open, (batch) => batch.accountId))
      if (!busy.has(accountId)) serve(accountId, batches, stop);
    return open.some(({ isDue, unfinished }) => isDue || unfinished > 0);
  }

  async function shift(stop?: AbortSignal): Promise<void> {
    const endsMs = performance.now() + SHIFT_SECONDS * 1_000;
    const isOver = () => stop?.aborted === true || performance.now() >= endsMs;
    stop?.addEventListener("abort", wake, { once: true });
    try {
      while (!isOver()) {
        alarm = Promise.withResolvers();
        isBusy = await pass(stop);
        await settleWithin([alarm.promise], isBusy ? BUSY_POLL_MS : POLL_MS);
        await sleep(GATHER_MS);
      }
    } finally {
      isBusy = false;
      stop?.removeEventListener("abort", wake);
      await Promise.all(starting.values());
    }
  }
  const onRunDone = (): void => {
    if (isBusy) wake();
  };
  return { tick: { name: "batches", everySeconds: SHIFT_SECONDS, run: shift }, wake, onRunDone };
}

/** Which accounts to leave alone for a while, because one of their batches hit an error. */
function createRests(log: Log) {
  const untilMs = new Map<string, number>();
  const failing = new Map<string, FailureLog>();
  return {
    isResting: (accountId: string) => (untilMs.get(accountId) ?? 0) > performance.now(),
    worked: ({ batchId }: OpenBatch) => {
      failing.get(batchId)?.worked();
      failing.delete(batchId);
    },
    failed: ({ accountId, batchId }: OpenBatch, error: unknown) => {
      const failures = failing.get(batchId) ?? failuresOf(batchId, log);
      failures.failed(error);
      remember(failing, batchId, failures);
      remember(untilMs, accountId, performance.now() + REST_MS);
    },
  };
}

function failuresOf(batchId: string, log: Log): FailureLog {
  const fails = "a batch cannot be processed; retrying";
  return createFailureLog(log.child({ batchId }), fails, "the batch can be processed again");
}

function remember<Value>(values: Map<string, Value>, id: string, value: Value): void {
  if (values.size === REMEMBERED_MAX) values.clear();
  values.set(id, value);
}

/** Takes turns among the batches that may start something. */
function nextDue(batches: readonly OpenBatch[], last: string | undefined): OpenBatch | null {
  const due = batches.filter(({ isDue }) => isDue);
  return due.find(({ batchId }) => last !== undefined && batchId > last) ?? due[0] ?? null;
}

/**
 * How many runs of the account's batches may be added. Batches use half of the runs that may execute at once for an
 * account, so its single runs always find room. There may be a few more if the shift of one process overlaps with the
 * next one.
 */
function roomOf(batches: readonly OpenBatch[], activeRunsMax: number): number {
  const accountRunsMax = Math.min(batches[0]?.accountRunsMax ?? 0, activeRunsMax);
  const window = Math.max(1, Math.floor(accountRunsMax / 2));
  const sum = (count: "unfinished" | "waiting") => batches.reduce((all, batch) => all + batch[count], 0);
  return Math.min(window - sum("unfinished"), WAITING_MAX - sum("waiting"));
}

interface Starting extends BatchStarterOptions {
  readonly memory: Semaphore;
  readonly stop: AbortSignal | undefined;
}

async function startItems(batch: OpenBatch, itemsMax: number, options: Starting): Promise<void> {
  const { create, plans, stop } = options;
  const account = plans ? await findAccount(create.db, batch.accountId) : null;
  if (account !== null && !account.isPro) {
    return pause(batch, planRequired(account.proUntil), options);
  }
  for (const { item, bytes } of await listWaitingItems(create.db, batch.batchId, itemsMax)) {
    const start = () => startOne(batch, item, options);
    if (stop?.aborted === true || !(await options.memory.run(start, { weight: bytes }))) return;
  }
}

/** @returns whether the next item may be tried at once. */
async function startOne(batch: OpenBatch, item: number, options: Starting): Promise<boolean> {
  const { create, newId, onCreated } = options;
  const inputs = await readItemInputs(create.db, batch.batchId, item);
  if (inputs === null) return true;
  const { accountId, keyId, requestId, promptVersionId, runOptions } = batch;
  const runId = newId();
  const body = { promptVersionId, inputs, runOptions };
  const request = { accountId, keyId, requestId, runId, body, idempotency: null, ignore: () => {} };
  try {
    await createRun(request, { ...create, alongside: (tx) => startItem(tx, batch, { item, runId }) });
  } catch (error) {
    return afterRefusal(error, batch, item, options);
  }
  onCreated();
  if (batch.status === "paused") await unpauseBatch(create.db, batch);
  return true;
}

async function afterRefusal(error: unknown, batch: OpenBatch, item: number, options: Starting): Promise<boolean> {
  if (codeOf(error) === NOT_TO_START) return false; // canceled, or another process is starting it
  if (!(error instanceof Problem)) throw error;
  if (error.code === "TOO_MANY_REQUESTS_ERROR") return false; // other runs of the account must end first
  if (pauseReasonOf(error) !== null) {
    await pause(batch, error, options);
    return false;
  }
  if (error.code !== "VALIDATION_ERROR") throw error;
  await refuseItem(options.create.db, batch, item, error.message);
  return true;
}

async function pause(batch: OpenBatch, problem: Problem, { create, log }: Starting): Promise<void> {
  const reason = pauseReasonOf(problem);
  if (reason === null) throw problem;
  await pauseBatch(create.db, batch, { reason, message: problem.message, isForOwner: reason === "KEY_NOT_VALID" });
  if (batch.status !== "paused") log.info({ batchId: batch.batchId, reason }, "a batch was paused");
}

const PAUSE_REASONS: Partial<Record<ErrorCode, BatchPause>> = {
  UNAUTHORIZED_ERROR: "KEY_NOT_VALID",
  NOT_FOUND_ERROR: "PROMPT_NOT_FOUND",
  GONE_ERROR: "MODEL_RETIRED",
};

/** Why nothing of the batch can be started; null: the problem concerns only this item, or resolves itself. */
function pauseReasonOf(problem: Problem): BatchPause | null {
  const { code, data } = problem;
  if (code === "PAYMENT_REQUIRED_ERROR") return (data as { readonly reason: BatchPause }).reason;
  const isNotAllowed = code === "VALIDATION_ERROR" && issuesOf(problem).some((issue) => issue.code === "not_allowed");
  return isNotAllowed ? "PROMPT_NOT_ALLOWED" : (PAUSE_REASONS[code] ?? null);
}
