/** Runs authors' regular expressions in threads that can be terminated, since some take exponential time. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { DeadlineError, orAborted, withDeadline } from "../../platform/resilience/deadline.ts";
import { createSemaphore } from "../../platform/resilience/semaphore.ts";

const THREAD = `const { parentPort, workerData } = require("node:worker_threads");
parentPort.postMessage(new RegExp(workerData.pattern, "u").test(workerData.text));`;

/** A good expression takes microseconds, but on a busy machine a thread needs a second to start. */
const MATCH_MS_MAX = 5_000;
/** One at a time, so that runaway expressions use at most one core of a process. Accounts (keys) take turns. */
const threads = createSemaphore({ permits: 1 });

export interface MatchOptions {
  /** An account; keys take turns. */
  readonly key?: string;
  /** Timeout, for tests. */
  readonly matchMsMax?: number;
}

/** @returns null when matching took too long. */
export function matchPattern(pattern: string, text: string, options: MatchOptions = {}): Promise<boolean | null> {
  const { key = "", matchMsMax = MATCH_MS_MAX } = options;
  const match = async () => {
    const thread = new Worker(THREAD, { eval: true, workerData: { pattern, text } });
    try {
      return await withDeadline(matchMsMax, async (signal) => {
        const [matches] = (await orAborted(once(thread, "message"), signal)) as [boolean];
        return matches;
      });
    } catch (error) {
      if (error instanceof DeadlineError) return null;
      throw error;
    } finally {
      await thread.terminate();
    }
  };
  return threads.run(match, { key });
}
