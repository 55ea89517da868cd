/** A number from 0 (inclusive) to 1 (exclusive). Passed in, so that a test can decide what chance does. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

/** Beyond this attempt the cap has long been reached, and 2 to a larger power would leave the safe integers. */
const DOUBLINGS_MAX = 30;

/**
 * How long to wait before attempt `attempt + 1`: anywhere between 0 and `min(capMs, baseMs * 2^(attempt - 1))`.
 * The whole span is random ("full jitter"), so that many callers refused in one moment do not come back in one moment.
 * @param attempt how many attempts have failed, from 1.
 */
export function fullJitterDelayMs(
  attempt: number,
  limits: { readonly baseMs: number; readonly capMs: number },
  random: Random = systemRandom,
): number {
  const doublings = Math.min(Math.max(attempt - 1, 0), DOUBLINGS_MAX);
  return Math.floor(random() * Math.min(limits.capMs, limits.baseMs * 2 ** doublings));
}
