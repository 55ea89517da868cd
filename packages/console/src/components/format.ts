/** Formats numbers and times for display. */
const WHOLE = new Intl.NumberFormat("en");
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const CLOCK = new Intl.DateTimeFormat("en", { timeStyle: "medium", hourCycle: "h23" });
const MINUTE = new Intl.DateTimeFormat("en", { timeStyle: "short", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const UTC_DAY = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });
const FULL = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });

export const formatWhole = (value: number) => WHOLE.format(value);
export const formatCompact = (value: number) => (value < 10_000 ? WHOLE.format(value) : COMPACT.format(value));

/** Formats an amount. For a price or a charge, use `formatCredits`. */
export const countCredits = (credits: number) => `${WHOLE.format(credits)} ${credits === 1 ? "credit" : "credits"}`;
export const formatCredits = (credits: number) => (credits === 0 ? "free" : countCredits(credits));

/** Turns an identifier such as `reasoningEffort` into words. */
export function spell(key: string): string {
  const words = key.replaceAll(/([A-Z])/g, " $1").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Under a minute ago: seconds. Earlier today: clock time. Otherwise: the date. */
export function formatTime(iso: string, nowMs: number = Date.now()): string {
  const ms = Date.parse(iso);
  const secondsAgo = Math.round((nowMs - ms) / 1_000);
  if (secondsAgo >= 0 && secondsAgo < 60) return `${secondsAgo} s ago`;
  const isToday = new Date(ms).toDateString() === new Date(nowMs).toDateString();
  return isToday ? CLOCK.format(ms) : DAY.format(ms);
}

export const formatClock = (iso: string) => CLOCK.format(Date.parse(iso));
export const formatMinute = (ms: number) => MINUTE.format(ms);
export const formatMoment = (iso: string) => FULL.format(Date.parse(iso));

/** A date without a time, `YYYY-MM-DD`, is the same day everywhere. */
export const formatDay = (iso: string) => (iso.includes("T") ? DAY : UTC_DAY).format(Date.parse(iso));

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min${seconds % 60 === 0 ? "" : ` ${seconds % 60} s`}`;
}

/** Milliseconds from creation to the end; null while the run is not final. */
export function tookMsOf({ createdAt, finishedAt }: RunTimes): number | null {
  return finishedAt === null ? null : Date.parse(finishedAt) - Date.parse(createdAt);
}

interface RunTimes {
  readonly createdAt: string;
  readonly finishedAt: string | null;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Bidirectional controls, which reorder the text that follows them. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Removes bidirectional controls from a text that somebody else wrote. */
export const withoutTurning = (text: string) => text.replaceAll(TURNING, "");

/** Isolates a name so that it cannot reorder the sentence around it, whatever script it is written in. */
export function nameIn(name: string): string {
  const plain = withoutTurning(name);
  return RIGHT_TO_LEFT.test(plain) ? `\u2068${plain}\u2069` : plain;
}
