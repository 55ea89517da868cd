/**
 * How many calls this worker makes to one model at once. The claim bounds it over all workers; this is the part that
 * learns: a 429 halves the number, ten successes add one back, up to the catalogue's limit.
 */
const SUCCESSES_PER_STEP = 10;

export interface ModelSlots {
  /** False: all are taken. */
  tryTake(): boolean;
  release(outcome: "ok" | "rate-limited" | "other"): void;
  readonly limit: number;
}

export function createModelSlots(limitMax: number): ModelSlots {
  let limit = limitMax;
  let taken = 0;
  let successes = 0;
  return {
    get limit() {
      return limit;
    },
    tryTake: () => {
      if (taken >= limit) return false;
      taken += 1;
      return true;
    },
    release: (outcome) => {
      taken -= 1;
      if (outcome === "rate-limited") {
        limit = Math.max(1, Math.floor(limit / 2));
        successes = 0;
      }
      if (outcome !== "ok" || limit >= limitMax) return;
      successes += 1;
      if (successes < SUCCESSES_PER_STEP) return;
      successes = 0;
      limit += 1;
    },
  };
}
