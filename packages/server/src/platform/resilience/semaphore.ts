/** Lets at most `places` pieces of work run at once; the rest wait in order of arrival. */
export interface Gate {
  /** Rejects with the signal's reason when it aborts before the work has begun. */
  run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
  /** Rejects all who wait now. */
  turnAway(reason: Error): void;
}

/** How long work waits for its place, and what it is told then; without it for as long as it takes. */
export interface Patience {
  readonly ms: number;
  readonly late: () => Error;
}

interface Waiter {
  readonly admit: () => void;
  readonly refuse: (reason: Error) => void;
}

export function createGate(places: number, patience?: Patience): Gate {
  let free = places;
  const waiting: Waiter[] = [];

  const queue = (signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const admit = () => {
        settle();
        resolve();
      };
      const refuse = (reason: Error) => {
        settle();
        reject(reason);
      };
      const waiter = { admit, refuse };
      const leaveQueue = (reason: Error) => {
        waiting.splice(waiting.indexOf(waiter), 1);
        refuse(reason);
      };
      const onAbort = () => leaveQueue(signal?.reason as Error);
      const timer = patience && setTimeout(() => leaveQueue(patience.late()), patience.ms);
      const settle = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      waiting.push(waiter);
    });
  const enter = async (signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    if (free === 0) return queue(signal);
    free -= 1;
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next.admit(); // the place passes on directly, so nobody who comes later can take it
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
    turnAway: (reason) => {
      for (const { refuse } of waiting.splice(0)) refuse(reason);
    },
  };
}
