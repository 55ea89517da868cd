import { vi } from "vitest";

/** The most time that anything may take on a busy machine. A failing test waits for it; a passing test never does. */
const TIMEOUT_MS = 90_000;

/** Retries until nothing is thrown. @returns the result of the last attempt. */
export function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: TIMEOUT_MS, interval: 20 });
}
