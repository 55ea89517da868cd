/** Wall-clock time, passed in wherever a decision depends on it, so that a test can move it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  readonly nowMs: () => number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/** ISO 8601, UTC, always three decimals: the only form in which a time leaves the server. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export const DAY_MS = 86_400_000;

/** The day, UTC: 2026-12-01. */
export function dayOf(ms: number): string {
  return isoTime(ms).slice(0, 10);
}
