export interface GatheredCalls {
  (): void;
  /** Runs the work now. Resolves when everything called for so far is done. */
  readonly flush: () => Promise<void>;
}

/**
 * Runs `work` a moment after it was called for, once for all calls until then. It runs once at a time.
 * @param work never rejects.
 */
export function gatherCalls(afterMs: number, work: () => Promise<void> | void): GatheredCalls {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    running = running.then(work);
    return running;
  };
  const call = (): void => {
    timer ??= setTimeout(() => void flush(), afterMs);
  };
  return Object.assign(call, { flush });
}
