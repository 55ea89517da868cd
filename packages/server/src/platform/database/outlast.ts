import { isOutage } from "./errors.ts";
import { tryAgain } from "../resilience/retry.ts";

/** A database that restarts is back within seconds; what waits longer holds up a process that wants to stop. */
const OUTAGE_MS_MAX = 15_000;
const BACKOFF = { baseMs: 100, capMs: 1_000 };

/**
 * Does work again until the database has done it, for as long as an outage usually lasts. For what would be paid for once
 * more if it were given up, and may be done twice. @throws the work's own error, at once when it is no outage.
 */
export function outlast<Result>(
  work: () => Promise<Result>,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Result> {
  const untilMs = performance.now() + OUTAGE_MS_MAX;
  const isWorthIt = (error: unknown) => isOutage(error) && performance.now() <= untilMs;
  return tryAgain(work, { isWorthIt, backoff: BACKOFF, signal });
}
