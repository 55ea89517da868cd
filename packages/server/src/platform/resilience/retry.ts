import { setTimeout as wait } from "node:timers/promises";
import { fullJitterDelayMs } from "./backoff.ts";

export interface TryAgain {
  /** Whether the work may succeed when it is done again after this error. */
  readonly isWorthIt: (error: unknown) => boolean;
  readonly backoff: { readonly baseMs: number; readonly capMs: number };
  /** Ends the tries, and a pause between two of them. */
  readonly signal?: AbortSignal | undefined;
}

/** Does work again and again, with pauses that grow. @throws the work's last error. */
export async function tryAgain<Result>(work: () => Promise<Result>, options: TryAgain): Promise<Result> {
  const { isWorthIt, backoff, signal } = options;
  for (let failed = 1; ; failed += 1) {
    try {
      return await work();
    } catch (error) {
      if (signal?.aborted === true || !isWorthIt(error)) throw error;
      await wait(fullJitterDelayMs(failed, backoff), undefined, { signal }).catch(() => {
        throw error;
      });
    }
  }
}
