import { vi } from "vitest";

/** So long may anything take on a busy machine. A test that fails waits for it; one that passes never does. */
const TIMEOUT_MS = 40_000;

/** Tries again until nothing is thrown. @returns what the last try gave. */
export function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: TIMEOUT_MS, interval: 20 });
}
