/** Regular expressions of authors, which take exponential time for some texts: each runs in a thread that can be ended. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { DeadlineError, orAborted, withDeadline } from "../../platform/resilience/deadline.ts";
import { createSemaphore } from "../../platform/resilience/semaphore.ts";

const THREAD = `const { parentPort, workerData } = require("node:worker_threads");
parentPort.postMessage(new RegExp(workerData.pattern, "u").test(workerData.text));`;

/** A sound expression takes microseconds; on a busy machine a thread needs a second to start. */
const MATCH_MS_MAX = 5_000;
/** One at a time, so that expressions without an end take one core of a process at most; keys (accounts) in turn. */
const threads = createSemaphore({ permits: 1 });

export interface MatchOptions {
  /** Keys take turns; accounts. */
  readonly key?: string;
  /** In tests: how long it may take. */
  readonly matchMsMax?: number;
}

/** @returns null when it took too long to say. */
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
