/** The keys with which a model may be called: by turns, each with a circuit breaker of its own. */
import { createBreaker, type Breaker, type BreakerOptions } from "../../platform/resilience/breaker.ts";
import type { ModelResult } from "../ai-sdk/model-adapter.ts";

export type CallEnding = ModelResult | "aborted" | "not-made";

export interface ProviderKeys {
  /** The number of a key from 0, or after how many milliseconds it is worth asking again. */
  take(): { readonly key: number } | { readonly waitMs: number };
  /** How a call with the key ended. `isSaid`: false when it says nothing about the other side. */
  record(key: number, ending: CallEnding, isSaid: boolean): void;
  /** True when another key than those that fail or are limited now could be taken. */
  readonly hasFree: boolean;
}

interface KeyState {
  readonly number: number;
  readonly breaker: Breaker;
  /** Its provider limits it until then; used before that only where all others are too. */
  limitedUntilMs: number;
}

interface ProviderKeysOptions extends Omit<BreakerOptions, "onChange"> {
  readonly count: number;
  readonly onChange: (change: "open" | "closed", key: number) => void;
}

/** How long a key is left alone that was limited, where its provider does not say. */
const LIMITED_MS = 1_000;

export function createProviderKeys({ count, onChange, ...limits }: ProviderKeysOptions): ProviderKeys {
  const { nowMs } = limits;
  const keys = Array.from({ length: Math.max(1, count) }, (_, number): KeyState => ({
    number,
    breaker: createBreaker({ ...limits, onChange: (change) => onChange(change, number) }),
    limitedUntilMs: 0,
  }));
  let next = 0;
  const isLimited = (state: KeyState): boolean => state.limitedUntilMs > nowMs();
  return {
    take: () => {
      const rotated = [...keys.slice(next), ...keys.slice(0, next)];
      let waitMs = Infinity;
      for (const { number, breaker } of [...rotated.filter((key) => !isLimited(key)), ...rotated.filter(isLimited)]) {
        const ms = breaker.admit();
        waitMs = Math.min(waitMs, ms);
        if (ms > 0) continue;
        next = (number + 1) % keys.length;
        return { key: number };
      }
      return { waitMs };
    },
    record: (key, ending, isSaid) => {
      const state = keys[key];
      if (state === undefined) return;
      state.breaker.record(isSaid ? breakerOutcome(ending) : "skipped");
      if (typeof ending === "string" || ending.kind !== "failed" || ending.cause !== "rate_limited") return;
      state.limitedUntilMs = nowMs() + (ending.retryAfterMs ?? LIMITED_MS);
    },
    get hasFree() {
      return keys.length > 1 && keys.some((state) => !state.breaker.isOpen && !isLimited(state));
    },
  };
}

function breakerOutcome(ending: CallEnding): "ok" | "failed" | "opens" | "skipped" {
  if (typeof ending === "string") return "skipped";
  if (ending.kind !== "failed") return "ok";
  return { ignored: "skipped" as const, counted: "failed" as const, opens: "opens" as const }[ending.breaker];
}
