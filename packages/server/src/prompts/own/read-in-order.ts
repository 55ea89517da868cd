import { createSemaphore } from "../../platform/resilience/semaphore.ts";

const reads = createSemaphore({ permits: 1 });

/**
 * Waits for a turn to read a prompt file. Reading one can block the process for a second, so other work, such as
 * heartbeats, runs between two of them. Accounts take turns, so that an account with many files does not delay the
 * others.
 */
export function beforeReading(accountId: string): Promise<void> {
  return reads.run(() => new Promise((resolve) => setImmediate(resolve)), { key: accountId });
}
