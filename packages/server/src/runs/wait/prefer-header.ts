/** What the Prefer header (RFC 7240) asks for. Malformed and unknown preferences are ignored, as the RFC says. */
export interface Preferences {
  /** Seconds the caller wants to wait; null: as long as the server waits by itself. */
  readonly waitSeconds: number | null;
  readonly respondAsync: boolean;
  /** The caller will follow the run's events: its text is wanted while it is written. */
  readonly stream: boolean;
}

const WAIT = /^wait="?(\d{1,9})"?$/i;
/** A preference or parameter: anything but separators, where a quoted string may hold those. */
const PART = /(?:[^,;"]|"(?:[^"\\]|\\.)*")+|[,;]/g;

export function readPreferences(header: string | null): Preferences {
  const parts = splitPreferences(header ?? "");
  const names = new Set(parts.map((part) => part.toLowerCase()));
  const waits = parts.flatMap((part) => WAIT.exec(part)?.[1] ?? []);
  return {
    waitSeconds: waits[0] === undefined ? null : Number(waits[0]), // the first of two wins (RFC 7240, section 2)
    respondAsync: names.has("respond-async"),
    stream: names.has("stream"),
  };
}

/** The preferences of a list without their parameters, spaces around `=` removed. */
function splitPreferences(header: string): string[] {
  const preferences: string[] = [];
  let isParameter = false;
  for (const [part] of header.matchAll(PART)) {
    if (part === "," || part === ";") isParameter = part === ";";
    else if (!isParameter) preferences.push(part.replace(/\s*=\s*/, "=").trim());
  }
  return preferences;
}

/** Value of Preference-Applied, or null when nothing was asked for that can be honoured here. */
export function describeApplied(preferences: Preferences, honours: { readonly creates: boolean }): string | null {
  const applied = [
    ...(preferences.respondAsync && honours.creates ? ["respond-async"] : []),
    ...(preferences.stream && honours.creates ? ["stream"] : []),
    ...(preferences.waitSeconds === null ? [] : [`wait=${preferences.waitSeconds}`]),
  ];
  return applied.length === 0 ? null : applied.join(", ");
}
