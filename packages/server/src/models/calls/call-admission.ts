/** Admits calls: each needs a slot of its model, memory, and a closed circuit breaker. */
import type { Log } from "../../platform/log.ts";
import { createGauge } from "../../platform/metrics/metrics.ts";
import { createAdaptiveConcurrency, type AdaptiveConcurrency } from "../../platform/resilience/adaptive-concurrency.ts";
import { createSemaphore, type Semaphore } from "../../platform/resilience/semaphore.ts";
import { isSimulated } from "../catalogue/availability.ts";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { LimitChange } from "./model-request.ts";
import type { FailureCause } from "../providers/failure.ts";
import { createProviderKeys, type CallEnding, type ProviderKeys } from "./provider-keys.ts";

export type CallPermit =
  /** `key`: index of the provider key to call with, from 0. */
  | { readonly kind: "admitted"; readonly key: number; release(result: CallEnding): void }
  /** Try again after this many milliseconds. `isBroken`: the model's breakers are open; otherwise it is only at capacity. */
  | { readonly kind: "busy"; readonly waitMs: number; readonly isBroken: boolean };

export interface CallAdmission {
  admit(entry: CatalogueEntry, bytes: number, signal: AbortSignal): Promise<CallPermit>;
  /** True when a call that failed because of its key could be made with another key now. */
  hasFreeKey(entry: CatalogueEntry): boolean;
}

/** The longest wait in this process; after that the run is released so that others can use its slot. */
export const WAIT_IN_PROCESS_MS = 2_000;

/**
 * Per provider, model, and key, in this worker only. Older results say nothing about a model's state now: a call lasts
 * minutes at most, and an outage seconds.
 */
const BREAKER = { windowCalls: 20, windowMs: 60_000, callsMin: 10, failingShare: 0.5, openMs: 15_000 };
const SUCCESSES_PER_SLOT = 10;

interface ModelState {
  readonly keys: ProviderKeys;
  /**
   * Concurrent calls of this worker. The claim bounds them across all workers; this part learns: a 429 halves the
   * number, and ten successes add one back, up to the catalogue's limit.
   */
  readonly slots: Semaphore;
  successes: number;
  /** For a model that follows its server's pace: its slots are what this has learned. */
  readonly pace: AdaptiveConcurrency | null;
  /** The next change to the limit that all workers share; null: none. */
  change: LimitChange | null;
  isAdapting: boolean;
  /** When the limit was last requested. */
  askedMs: number;
}

export interface CallAdmissionOptions {
  /**
   * Bounds the bytes of calls in flight: a 1 MB image costs about 2.9 MB while it is sent (measured 2026-11), so if only
   * calls were counted, images could fill the heap.
   */
  readonly memory: Semaphore;
  /** A clock that never jumps. */
  readonly monotonicMs: () => number;
  readonly log: Log;
  /** Changes the limit of a model that follows its server's pace. @returns the limit in force. */
  readonly adaptRuns: (model: string, change: LimitChange) => Promise<number>;
  /** How many keys the model's provider has; if absent, one. */
  readonly countKeys?: ((entry: CatalogueEntry) => number) | undefined;
}

/** With fewer at once the server would idle: the next question is sent while an answer is on its way. */
const PACED_LEAST = 2;
/** How many output tokens reading a question counts as. */
const QUESTION_UNITS = 20;

export function createCallAdmission(options: CallAdmissionOptions): CallAdmission {
  const { memory, monotonicMs } = options;
  const states = new Map<string, ModelState>();
  const stateOf = (entry: CatalogueEntry): ModelState => {
    const key = `${entry.provider} ${entry.model}`;
    const known = states.get(key);
    if (known !== undefined && (known.pace !== null) === entry.isPaced) return known;
    const state = createState(entry, options);
    states.set(key, state);
    return state;
  };
  return {
    hasFreeKey: (entry) => stateOf(entry).keys.hasFree,
    admit: async (entry, bytes, signal) => {
      const state = stateOf(entry);
      const slot = state.slots.tryAcquire();
      if (slot === null) {
        askForLimit(state, entry, options);
        return { kind: "busy", waitMs: WAIT_IN_PROCESS_MS, isBroken: false };
      }
      const reservation = await memory.acquireInTime({ weight: bytes, signal }).catch((error: unknown) => {
        slot.release();
        throw error;
      });
      if (reservation === null) {
        slot.release();
        return { kind: "busy", waitMs: WAIT_IN_PROCESS_MS, isBroken: false };
      }
      const taken = state.keys.take();
      if ("waitMs" in taken) {
        reservation.release();
        slot.release();
        return { kind: "busy", waitMs: taken.waitMs, isBroken: true };
      }
      const { key } = taken;
      const { level = 0 } = state.pace ?? {};
      const startMs = monotonicMs();
      return {
        kind: "admitted",
        key,
        release: (result) => {
          reservation.release();
          const wanted = paceAfter(state.pace, { level, ms: monotonicMs() - startMs, result });
          if (wanted !== null) void adapt(state, entry, { from: level, to: wanted }, options);
          // The sandbox fails when a caller asks it to: that must not close it to others.
          state.keys.record(key, result, !isSimulated(entry));
          if (!isSimulated(entry)) learn(state, entry, result);
          slot.release();
        },
      };
    },
  };
}

function createState(
  entry: CatalogueEntry,
  { monotonicMs, log, countKeys = () => 1 }: CallAdmissionOptions,
): ModelState {
  const max = entry.limits.concurrency;
  const pace = entry.isPaced ? createAdaptiveConcurrency({ min: PACED_LEAST, max }) : null;
  const count = countKeys(entry);
  const onChange = (change: "open" | "closed", number: number) =>
    noteChange(log, { ...entry, key: count > 1 ? number + 1 : undefined }, change);
  return {
    keys: createProviderKeys({ ...BREAKER, nowMs: monotonicMs, count, onChange }),
    slots: createSemaphore({ permits: pace?.level ?? max }),
    successes: 0,
    pace,
    change: null,
    isAdapting: false,
    askedMs: -WAIT_IN_PROCESS_MS,
  };
}

const OVERLOADS: ReadonlySet<FailureCause> = new Set(["rate_limited", "overloaded", "timeout"]);

/** @param call `level`: how many were allowed at once when it began. */
function paceAfter(
  pace: AdaptiveConcurrency | null,
  { level, ms, result }: { readonly level: number; readonly ms: number; readonly result: CallEnding },
): number | null {
  if (pace === null || typeof result === "string") return null;
  if (result.kind === "failed") return OVERLOADS.has(result.cause) ? pace.recordOverload(level) : null;
  return result.kind === "text" ? pace.record({ level, ms, units: result.usage.outputTokens + QUESTION_UNITS }) : null;
}

/** Another worker may have learned that the server handles more. */
function askForLimit(state: ModelState, entry: CatalogueEntry, options: CallAdmissionOptions): void {
  const nowMs = options.monotonicMs();
  if (state.pace === null || nowMs - state.askedMs < WAIT_IN_PROCESS_MS) return;
  state.askedMs = nowMs;
  void adapt(state, entry, { from: state.pace.level, to: state.pace.level }, options);
}

/** Makes one change at a time; of the waiting changes, only the last is made. Never rejects. */
async function adapt(
  state: ModelState,
  { model }: CatalogueEntry,
  change: LimitChange,
  { adaptRuns, log }: CallAdmissionOptions,
): Promise<void> {
  const { pace, slots } = state;
  state.change = change;
  if (pace === null || state.isAdapting) return;
  state.isAdapting = true;
  for (let next: LimitChange | null = change; next !== null; next = state.change) {
    state.change = null;
    const before = pace.level;
    try {
      pace.adopt(await adaptRuns(model, next));
    } catch (error) {
      log.warn({ err: error, model }, "the limit on concurrent runs of the model could not be changed");
    }
    slots.permits = pace.level;
    if (pace.level !== before)
      log.info(
        { model, from: before, to: pace.level },
        "the limit on concurrent runs of the model was adjusted to its server's pace",
      );
  }
  state.isAdapting = false;
}

function learn(state: ModelState, entry: CatalogueEntry, result: CallEnding): void {
  if (typeof result === "string" || state.pace !== null) return;
  const { slots } = state;
  if (result.kind !== "failed") {
    state.successes = slots.permits < entry.limits.concurrency ? state.successes + 1 : 0;
    if (state.successes < SUCCESSES_PER_SLOT) return;
    slots.permits += 1;
  } else if (result.cause === "rate_limited") {
    slots.permits = Math.max(1, Math.floor(slots.permits / 2));
  } else return;
  state.successes = 0;
}

/** By provider. */
const openBreakers = new Map<string, number>();
createGauge(
  {
    name: "promptd_circuit_breakers_open",
    help: "Circuit breakers of this process that are open, by provider. Each model has one per provider key.",
  },
  ["provider"],
).from(() => [...openBreakers].map(([provider, open]) => [[provider], open]));

/** @param key number of the key among several, from 1; undefined: there is only one. */
function noteChange(
  log: Log,
  { provider, model, key }: Pick<CatalogueEntry, "provider" | "model"> & { readonly key: number | undefined },
  change: "open" | "closed",
): void {
  openBreakers.set(provider, (openBreakers.get(provider) ?? 0) + (change === "open" ? 1 : -1));
  const facts = { provider, model, ...(key === undefined ? {} : { key }) };
  if (change === "closed") log.info(facts, "the model answers again: its circuit breaker closed");
  else log.warn(facts, "the model keeps failing: its circuit breaker opened, and its runs wait");
}
