/** The time range that a list of runs shows: the last hours or days, or between two moments. */

const HOUR_MS = 3_600_000;
const LAST_MS = {
  "1h": HOUR_MS,
  "3h": 3 * HOUR_MS,
  "24h": 24 * HOUR_MS,
  "7d": 168 * HOUR_MS,
  "30d": 720 * HOUR_MS,
} as const;
export const TIMES = ["1h", "3h", "24h", "7d", "30d", "between"] as const;
export type Time = (typeof TIMES)[number];

export interface TimeSearch {
  readonly time?: Time | undefined;
  /** Only for `between`: ISO 8601, to the minute. Absent: no limit. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** In milliseconds since 1970, as the server expects it: from `since` on, before `until`. */
export interface TimeSpan {
  readonly since?: number;
  readonly until?: number;
}

const MINUTE_MS = 60_000;

/** The last minute belongs to the range, and the order of its ends does not matter. */
export function spanOf({ time, since, until }: TimeSearch, nowMs: number): TimeSpan {
  if (time === undefined) return {};
  if (time !== "between") return { since: nowMs - LAST_MS[time] };
  const [first, last] = [since, until].map((end) => (end === undefined ? null : Date.parse(end)));
  if (first == null) return last == null ? {} : { until: last + MINUTE_MS };
  if (last == null) return { since: first };
  return { since: Math.min(first, last), until: Math.max(first, last) + MINUTE_MS };
}

/** What a field for local times shows: `2026-11-28T14:05`. */
export function toLocal(iso: string | undefined): string {
  if (iso === undefined) return "";
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}

/** Undefined if the field is empty, which a browser also reports while the time is incomplete. */
export function fromLocal(local: string): string | undefined {
  const ms = Date.parse(local); // without a zone, it is local time
  return Number.isNaN(ms) ? undefined : `${new Date(ms).toISOString().slice(0, 16)}Z`;
}

/** The beginning of today, local time. */
export function startOfToday(nowMs: number): string {
  return `${new Date(new Date(nowMs).setHours(0, 0, 0, 0)).toISOString().slice(0, 16)}Z`;
}
