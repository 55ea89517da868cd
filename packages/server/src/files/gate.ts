/** Lets at most `places` pieces of work run at once; the rest wait in order of arrival. */
export interface Gate {
  /** Rejects with the signal's reason when it aborts before the work has begun. */
  run<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result>;
}

export function createGate(places: number): Gate {
  let free = places;
  const waiting: (() => void)[] = [];

  const enter = (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (free > 0) {
      free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        waiting.splice(waiting.indexOf(admit), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      waiting.push(admit);
    });
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next(); // the place passes on directly, so nobody who comes later can take it
  };

  return {
    run: async (work, signal) => {
      await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
