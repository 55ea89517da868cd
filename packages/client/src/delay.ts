/** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it is aborted. */
export type Delay = (ms: number, signal: AbortSignal | undefined) => Promise<void>;

export const delay: Delay = (ms, signal) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
