/** What a call must pass before it is sent: the model's breaker, its slots, and memory. */
import type { Log } from "../../platform/log.ts";
import type { ByteBudget } from "./byte-budget.ts";
import { createBreaker, type Breaker } from "../../platform/resilience/breaker.ts";
import { isSimulated } from "../catalogue/availability.ts";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { ModelResult } from "../ai-sdk/model-adapter.ts";
import { createModelSlots, type ModelSlots } from "./model-slots.ts";

export type Entry =
  | { readonly kind: "admitted"; leave(result: ModelResult | "aborted" | "not-sent"): void }
  /** Worth another look after this many milliseconds. `isBroken`: left in peace by the breaker, not merely full. */
  | { readonly kind: "busy"; readonly waitMs: number; readonly isBroken: boolean };

export interface ModelGate {
  enter(entry: CatalogueEntry, bytes: number, signal: AbortSignal): Promise<Entry>;
}

/** A call waits in this process at most this long; then the run is given back and others get its place. */
export const WAIT_IN_PROCESS_MS = 2_000;

/**
 * Per provider and model, in this worker alone. What a model did longer ago says nothing about it now; a call lasts
 * minutes at most, and an outage seconds.
 */
const BREAKER = { windowCalls: 20, windowMs: 60_000, callsMin: 10, failingShare: 0.5, openMs: 15_000 };

/** @param monotonicMs a clock that never jumps. */
export function createModelGate(budget: ByteBudget, monotonicMs: () => number, log: Log): ModelGate {
  const states = new Map<string, { breaker: Breaker; slots: ModelSlots }>();
  const stateOf = (entry: CatalogueEntry) => {
    const key = `${entry.provider} ${entry.model}`;
    const state = states.get(key) ?? {
      breaker: createBreaker({ ...BREAKER, nowMs: monotonicMs, onChange: (change) => logChange(log, entry, change) }),
      slots: createModelSlots(entry.limits.concurrency),
    };
    states.set(key, state);
    return state;
  };
  return {
    enter: async (entry, bytes, signal) => {
      const { breaker, slots } = stateOf(entry);
      if (!slots.tryTake()) return { kind: "busy", waitMs: WAIT_IN_PROCESS_MS, isBroken: false };
      const reservation = await reserveOr(
        () => slots.release("other"),
        budget.reserve(bytes, WAIT_IN_PROCESS_MS, signal),
      );
      if (reservation === null) {
        slots.release("other");
        return { kind: "busy", waitMs: WAIT_IN_PROCESS_MS, isBroken: false };
      }
      const waitMs = breaker.admit();
      if (waitMs > 0) {
        reservation.release();
        slots.release("other");
        return { kind: "busy", waitMs, isBroken: true };
      }
      return {
        kind: "admitted",
        leave: (result) => {
          reservation.release();
          // The sandbox fails when a caller writes so: that must not close it to others.
          const counts = !isSimulated(entry);
          slots.release(counts ? slotOutcome(result) : "other");
          breaker.record(counts ? breakerOutcome(result) : "skipped");
        },
      };
    },
  };
}

function logChange(log: Log, { provider, model }: CatalogueEntry, change: "open" | "closed"): void {
  if (change === "closed") log.info({ provider, model }, "the model answers again: its circuit breaker closed");
  else log.warn({ provider, model }, "the model keeps failing: its circuit breaker opened, and its runs wait");
}

/** A wait that is aborted must not keep the slot. */
async function reserveOr<Result>(undo: () => void, reservation: Promise<Result>): Promise<Result> {
  try {
    return await reservation;
  } catch (error) {
    undo();
    throw error;
  }
}

function slotOutcome(result: ModelResult | "aborted" | "not-sent"): "ok" | "rate-limited" | "other" {
  if (typeof result === "string") return "other";
  if (result.kind !== "failed") return "ok";
  return result.cause === "rate_limited" ? "rate-limited" : "other";
}

function breakerOutcome(result: ModelResult | "aborted" | "not-sent"): "ok" | "failed" | "opens" | "skipped" {
  if (typeof result === "string") return "skipped";
  if (result.kind !== "failed") return "ok";
  return { ignored: "skipped" as const, counted: "failed" as const, opens: "opens" as const }[result.breaker];
}
