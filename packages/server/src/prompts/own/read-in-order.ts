import { createSemaphore } from "../../platform/resilience/semaphore.ts";
import { runInSlices, type SlicedWork } from "../../platform/time-slice.ts";

const reads = createSemaphore({ permits: 1 });

/**
 * Reads prompt files one after another, because reading one can take a second of processor time. Accounts take turns,
 * so that an account with many files does not delay the others; other work of the process runs in between.
 */
export function readInOrder<Result>(accountId: string, read: () => SlicedWork<Result>): Promise<Result> {
  return reads.run(() => runInSlices(read()), { key: accountId });
}
