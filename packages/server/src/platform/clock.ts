/** Wall-clock time. Passed in wherever a decision depends on it, so that a test can change it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  readonly nowMs: () => number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/** Formats a time as ISO 8601 in UTC, always with three decimals: the only form in which times leave the server. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export const DAY_MS = 86_400_000;

/** Returns the day in UTC, such as 2026-12-01. */
export function dayOf(ms: number): string {
  return isoTime(ms).slice(0, 10);
}
