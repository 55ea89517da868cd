/** The keys a model may be called with: used in turn, each with its own circuit breaker. */
import { createBreaker, type Breaker, type BreakerOptions } from "../../platform/resilience/breaker.ts";
import type { ModelResult } from "../ai-sdk/model-adapter.ts";

export type CallEnding = ModelResult | "aborted" | "not-made";

export interface ProviderKeys {
  /** The index of a key, from 0, or how many milliseconds to wait before asking again. */
  take(): { readonly key: number } | { readonly waitMs: number };
  /** Records how a call with the key ended. `isSaid`: false if that says nothing about the provider. */
  record(key: number, ending: CallEnding, isSaid: boolean): void;
  /** True when some key is neither failing nor rate limited now. */
  readonly hasFree: boolean;
}

interface KeyState {
  readonly number: number;
  readonly breaker: Breaker;
  /** The provider limits the key until then; used earlier only if all other keys are limited too. */
  limitedUntilMs: number;
}

interface ProviderKeysOptions extends Omit<BreakerOptions, "onChange"> {
  readonly count: number;
  readonly onChange: (change: "open" | "closed", key: number) => void;
}

/** How long a rate-limited key rests if its provider does not say. */
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
