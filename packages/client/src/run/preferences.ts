import type { Run } from "@promptd/contract";

export function isFinal(run: Run): boolean {
  return run.runStatus === "succeeded" || run.runStatus === "failed";
}

export function waitPreference(seconds: number | undefined): string | null {
  return seconds === undefined ? null : `wait=${Math.max(0, Math.ceil(seconds))}`;
}

export function preferHeader(preferences: readonly (string | null)[]): Record<string, string> {
  const given = preferences.filter((preference) => preference !== null);
  return given.length === 0 ? {} : { prefer: given.join(", ") };
}
