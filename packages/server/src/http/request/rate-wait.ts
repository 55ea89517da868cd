import { pollUntil, sleep } from "../../platform/resilience/deadline.ts";
import { createSemaphore } from "../../platform/resilience/semaphore.ts";
import type { Admission } from "../endpoint.ts";

const POLL = { everyMs: 250, timeoutMs: 5_000 };
const WAITS_MAX = 1_000;
/** For one credential; the rest of a flood is refused at once. */
const SHARE_MAX = 20;

/** Calls `admit`, and calls it again while the request is over the rate limit. */
export type RateWait = (admit: () => Promise<Admission>, credential: string) => Promise<Admission>;

/**
 * For endpoints whose callers do not retry after a 429: a request over the limit waits for its admission, for at most
 * five seconds. The limit itself does not change.
 */
export function createRateWait(): RateWait {
  const waits = createSemaphore({ permits: WAITS_MAX, keyShareMax: SHARE_MAX });
  return async (admit, credential) => {
    const first = await admit();
    const permit = isOverLimit(first) ? waits.tryAcquire({ key: credential }) : null;
    if (permit === null) return first;
    let last = first;
    const ask = async (): Promise<Admission | null> => {
      last = await admit();
      return isOverLimit(last) ? null : last;
    };
    try {
      await sleep(POLL.everyMs);
      return (await pollUntil(ask, POLL)) ?? last;
    } finally {
      permit.release();
    }
  };
}

function isOverLimit(admission: Admission): boolean {
  return admission.kind === "refused" && admission.problem.code === "TOO_MANY_REQUESTS_ERROR";
}
