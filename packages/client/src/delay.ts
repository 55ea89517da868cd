/** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it is aborted. */
export type Delay = (ms: number, signal: AbortSignal | undefined) => Promise<void>;

export const delay: Delay = async (ms, signal) => {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
  signal?.throwIfAborted();
};
