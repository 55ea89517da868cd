/** What the Prefer header (RFC 7240) requests. Malformed and unknown preferences are ignored, as the RFC requires. */
export interface Preferences {
  /** Seconds the caller wants to wait; null: use the server's default. */
  readonly waitSeconds: number | null;
  readonly respondAsync: boolean;
  /** The caller will follow the run's events and wants its text while it is being written. */
  readonly stream: boolean;
}

const WAIT = /^wait="?(\d+)"?$/i;
/** A larger number of seconds means this one (RFC 9111, section 1.2.2). */
const WAIT_SECONDS_MAX = 2_147_483_648;
/**
 * A preference or parameter: anything except separators, which may appear only inside a quoted string. A string without
 * an end takes the rest of the header; looking for its end again and again would take long.
 */
const PART = /(?:[^,;"]|"(?:[^"\\]|\\.?)*"?)+|[,;]/g;

const NO_PREFERENCES: Preferences = { waitSeconds: null, respondAsync: false, stream: false };

export function readPreferences(header: string | null): Preferences {
  if (header === null) return NO_PREFERENCES;
  const parts = splitPreferences(header);
  const names = new Set(parts.map((part) => part.toLowerCase()));
  const waits = parts.flatMap((part) => WAIT.exec(part)?.[1] ?? []);
  return {
    // the first of two wins (RFC 7240, section 2)
    waitSeconds: waits[0] === undefined ? null : Math.min(Number(waits[0]), WAIT_SECONDS_MAX),
    respondAsync: names.has("respond-async"),
    stream: names.has("stream"),
  };
}

/** The preferences in a list, without their parameters and without spaces around `=`. */
function splitPreferences(header: string): string[] {
  const preferences: string[] = [];
  let isParameter = false;
  for (const [part] of header.matchAll(PART)) {
    if (part === "," || part === ";") isParameter = part === ";";
    else if (!isParameter) preferences.push(withoutSpaces(part));
  }
  return preferences;
}

function withoutSpaces(preference: string): string {
  const at = preference.indexOf("=");
  if (at === -1) return preference.trim();
  return `${preference.slice(0, at).trim()}=${preference.slice(at + 1).trim()}`;
}

/** Value of Preference-Applied, or null if no requested preference can be honored here. */
export function describeApplied(preferences: Preferences, honors: { readonly creates: boolean }): string | null {
  const applied = [
    ...(preferences.respondAsync && honors.creates ? ["respond-async"] : []),
    ...(preferences.stream && honors.creates ? ["stream"] : []),
    ...(preferences.waitSeconds === null ? [] : [`wait=${preferences.waitSeconds}`]),
  ];
  return applied.length === 0 ? null : applied.join(", ");
}
