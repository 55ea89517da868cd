/**
 * Bounds the memory of calls in flight: a 1 MB image costs about 2.9 MB while it is sent (measured 2026-11), so
 * counting calls alone would let images fill the heap. First come, first served, or a large call would never get in.
 */
export interface ByteBudget {
  /** Null after `waitMsMax`. Rejects when aborted. */
  reserve(bytes: number, waitMsMax: number, signal: AbortSignal): Promise<Reservation | null>;
  readonly usedBytes: number;
}

export interface Reservation {
  /** Makes it as large as what is really held. A larger one waits for nothing: the bytes are there already. */
  resize(bytes: number): void;
  release(): void;
}

interface Waiter {
  readonly bytes: number;
  readonly start: () => void;
}

export function createByteBudget(bytesMax: number): ByteBudget {
  const waiting: Waiter[] = [];
  let used = 0;
  // What is larger than the whole budget runs alone.
  const fits = (bytes: number): boolean => used === 0 || used + bytes <= bytesMax;
  const take = (bytes: number): Reservation => {
    let held = 0;
    let isTaken = true;
    const resize = (to: number): void => {
      if (!isTaken) return;
      used += to - held;
      held = to;
      serve();
    };
    resize(bytes);
    return {
      resize,
      release: () => {
        resize(0);
        isTaken = false;
      },
    };
  };
  const serve = (): void => {
    for (let next = waiting[0]; next !== undefined && fits(next.bytes); next = waiting[0]) {
      waiting.shift();
      next.start();
    }
  };
  return {
    get usedBytes() {
      return used;
    },
    reserve: (bytes, waitMsMax, signal) => {
      if (waiting.length === 0 && fits(bytes)) return Promise.resolve(take(bytes));
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", abort);
          const place = waiting.indexOf(waiter);
          if (place !== -1) waiting.splice(place, 1);
        };
        const waiter: Waiter = {
          bytes,
          start: () => {
            leave();
            resolve(take(bytes));
          },
        };
        const abort = (): void => {
          leave();
          reject(signal.reason as Error);
          serve(); // whoever stood behind may fit
        };
        const timer = setTimeout(() => {
          leave();
          resolve(null);
          serve();
        }, waitMsMax);
        waiting.push(waiter);
        signal.addEventListener("abort", abort, { once: true });
        if (signal.aborted) abort();
      });
    },
  };
}
