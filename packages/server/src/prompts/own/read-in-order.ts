import { createSemaphore } from "../../platform/resilience/semaphore.ts";

const reads = createSemaphore({ permits: 1 });

/**
 * Waits before a prompt file is read, which takes up to a second without a pause: between two of them the rest of the
 * process works, its heartbeats too. Accounts go one after the other, so that who sends many holds up nobody else's.
 */
export function beforeReading(accountId: string): Promise<void> {
  return reads.run(() => new Promise((resolve) => setImmediate(resolve)), { key: accountId });
}
