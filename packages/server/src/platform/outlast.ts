import { setTimeout as wait } from "node:timers/promises";
import { fullJitterDelayMs } from "./backoff.ts";
import { isOutage } from "./database-errors.ts";

/** A database that restarts is back within seconds; what waits longer holds up a process that wants to stop. */
const OUTAGE_MS_MAX = 15_000;
const BACKOFF = { baseMs: 100, capMs: 1_000 };

/**
 * Does work again until the database has done it, for as long as an outage usually lasts. For what would be paid for once
 * more if it were given up, and may be done twice. @throws the work's own error, at once when it is no outage.
 */
export async function outlast<Result>(
  work: () => Promise<Result>,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Result> {
  const untilMs = performance.now() + OUTAGE_MS_MAX;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isOutage(error) || signal?.aborted === true || performance.now() > untilMs) throw error;
      await wait(fullJitterDelayMs(attempt, BACKOFF));
    }
  }
}
