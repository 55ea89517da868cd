/**
 * The one limiter. It bounds work in progress by count or by weight; a memory budget is a semaphore weighted by bytes.
 * It is fair: nobody overtakes a waiter, or, with `passMs`, a waiter that has waited that long. With keys (accounts),
 * the queues of the keys are served in turn, and a key at its share waits without holding up the others.
 */

/** What is short: permits, or the share of one key. */
type Shortage = "permits" | "key";

export interface SemaphoreOptions {
  readonly permits: number;
  /** How long work waits for its permit; absent: without limit. */
  readonly timeoutMs?: number;
  readonly timeoutError?: (shortage: Shortage) => Error;
  /** How many permits one key may have. */
  readonly keyShareMax?: number;
  /**
   * A key that has permits never has more than are left free. So each of n busy keys has one part of n + 1, and the
   * last part stays free for the next key. Permits cannot be taken back, so keys that used them all would lock out a
   * newcomer.
   */
  readonly leavesFree?: boolean;
  /**
   * How long work that does not fit lets work that fits overtake it, so that light work need not wait for heavy work.
   * After that nothing overtakes it, so that it gets its turn. Default: 0.
   */
  readonly passMs?: number;
  /** Never jumps. */
  readonly nowMs?: () => number;
}

interface AcquireOptions {
  /** Default: 1. Work heavier than all permits, or than its key's share, is admitted alone. */
  readonly weight?: number;
  readonly key?: string;
  /** Ends the wait; the promise rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface Permit {
  /** Changes the weight at once, for what cannot wait: memory that is already in use. */
  resize(weight: number): void;
  /** Takes more permits if they are free now. @returns what was short; null: the permits were taken. */
  tryGrow(weight: number): Shortage | null;
  /** Returns the permits. Idempotent. */
  release(): void;
}

export interface Semaphore {
  /** How many permits there are. Lowering it takes nothing away from work in progress. */
  permits: number;
  readonly used: number;
  /** How many callers wait for a permit. */
  readonly waiting: number;
  run<Result>(work: (permit: Permit) => Promise<Result>, options?: AcquireOptions): Promise<Result>;
  acquire(options?: AcquireOptions): Promise<Permit>;
  /** @returns null if no permit was free in time. */
  acquireInTime(options?: AcquireOptions): Promise<Permit | null>;
  /** @returns null if it would have to wait. */
  tryAcquire(options?: AcquireOptions): Permit | null;
  /** Rejects all current waiters. Later arrivals wait as before. */
  rejectWaiting(error: Error): void;
}

export function createSemaphore(options: SemaphoreOptions): Semaphore {
  return new FairSemaphore(options);
}

class NoPermitInTime extends Error {
  override readonly name = "NoPermitInTime";
}

interface Waiter {
  readonly key: string;
  readonly weight: number;
  readonly sinceMs: number;
  readonly admit: (permit: Permit) => void;
  readonly refuse: (error: Error) => void;
}

class FairSemaphore implements Semaphore {
  readonly #options: SemaphoreOptions;
  /** By key, in the order in which the keys are served. No queue is empty. */
  readonly #queues = new Map<string, Set<Waiter>>();
  readonly #usedByKey = new Map<string, number>();
  #permits: number;
  #used = 0;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
    this.#permits = options.permits;
  }

  get used(): number {
    return this.#used;
  }

  get waiting(): number {
    let waiting = 0;
    for (const queue of this.#queues.values()) waiting += queue.size;
    return waiting;
  }

  get permits(): number {
    return this.#permits;
  }

  set permits(permits: number) {
    this.#permits = permits;
    this.#serve();
  }

  async run<Result>(work: (permit: Permit) => Promise<Result>, options?: AcquireOptions): Promise<Result> {
    const permit = await this.acquire(options);
    try {
      return await work(permit);
    } finally {
      permit.release();
    }
  }

  async acquire({ weight = 1, key = "", signal }: AcquireOptions = {}): Promise<Permit> {
    signal?.throwIfAborted();
    if (weight === 0) return this.#grant(key, 0);
    const free = this.tryAcquire({ weight, key }); // as nearly always: nothing is queued then
    if (free !== null) return free;
    const { promise, resolve, reject } = Promise.withResolvers<Permit>();
    const waiter: Waiter = { key, weight, sinceMs: this.#nowMs(), admit: resolve, refuse: reject };
    const queue = this.#queues.get(key) ?? new Set();
    this.#queues.set(key, queue.add(waiter));
    this.#serve(); // admits this one too if it fits where those before it do not
    if (!queue.has(waiter)) return promise;
    const stopWaiting = (error: Error): void => {
      if (this.#leaveQueue(waiter)) reject(error);
      this.#serve(); // the next in the queue may fit
    };
    const onAbort = (): void => stopWaiting(signal?.reason as Error);
    const { timeoutMs } = this.#options;
    const timer =
      timeoutMs === undefined ? undefined : setTimeout(() => stopWaiting(this.#timeoutError(waiter)), timeoutMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  acquireInTime(options?: AcquireOptions): Promise<Permit | null> {
    return this.acquire(options).catch((error: unknown) => {
      if (error instanceof NoPermitInTime) return null;
      throw error;
    });
  }

  tryAcquire({ weight = 1, key = "" }: AcquireOptions = {}): Permit | null {
    return this.#queues.size > 0 || this.#shortage(key, weight) !== null ? null : this.#grant(key, weight);
  }

  rejectWaiting(error: Error): void {
    const waiting = [...this.#queues.values()].flatMap((queue) => [...queue]);
    this.#queues.clear();
    for (const { refuse } of waiting) refuse(error);
  }

  #serve(): void {
    for (let next = this.#nextToAdmit(); next !== null; next = this.#nextToAdmit()) {
      this.#leaveQueue(next);
      const queue = this.#queues.get(next.key);
      this.#queues.delete(next.key);
      if (queue !== undefined) this.#queues.set(next.key, queue); // behind the other keys
      next.admit(this.#grant(next.key, next.weight));
    }
  }

  /**
   * Returns the first waiter that fits, in the order of the keys. Nothing overtakes a waiter that has waited `passMs`.
   */
  #nextToAdmit(): Waiter | null {
    const { passMs = 0 } = this.#options;
    const nowMs = this.#nowMs();
    for (const [key, queue] of this.#queues) {
      for (const waiter of queue) {
        const shortage = this.#shortage(key, waiter.weight);
        if (shortage === null) return waiter;
        if (nowMs - waiter.sinceMs < passMs) continue;
        if (shortage === "permits") return null;
        break; // this key is at its share; other keys have theirs
      }
    }
    return null;
  }

  #nowMs(): number {
    return (this.#options.nowMs ?? (() => performance.now()))();
  }

  #shortage(key: string, weight: number): Shortage | null {
    const usedByKey = this.#usedByKey.get(key) ?? 0;
    if (usedByKey > 0 && usedByKey + weight > this.#keyShareNow()) return "key";
    return this.#used > 0 && this.#used + weight > this.#permits ? "permits" : null;
  }

  #keyShareNow(): number {
    const { keyShareMax = Infinity, leavesFree = false } = this.#options;
    return leavesFree ? Math.min(keyShareMax, this.#permits - this.#used) : keyShareMax;
  }

  #grant(key: string, granted: number): Permit {
    let weight = granted;
    let isReleased = false;
    this.#use(key, weight);
    const resize = (to: number): void => {
      if (isReleased) return;
      this.#use(key, to - weight);
      weight = to;
      this.#serve();
    };
    return {
      resize,
      tryGrow: (to) => {
        const more = Math.max(0, to - weight);
        if (more === 0) return null;
        if ((this.#usedByKey.get(key) ?? 0) + more > this.#keyShareNow()) return "key";
        if (this.#used + more > this.#permits) return "permits";
        resize(to);
        return null;
      },
      release: () => {
        resize(0);
        isReleased = true;
      },
    };
  }

  #use(key: string, weight: number): void {
    this.#used += weight;
    const ofKey = (this.#usedByKey.get(key) ?? 0) + weight;
    if (ofKey === 0) this.#usedByKey.delete(key);
    else this.#usedByKey.set(key, ofKey);
  }

  /** @returns false if it was already admitted or refused. */
  #leaveQueue(waiter: Waiter): boolean {
    const queue = this.#queues.get(waiter.key);
    const isWaiting = queue?.delete(waiter) === true;
    if (queue?.size === 0) this.#queues.delete(waiter.key);
    return isWaiting;
  }

  #timeoutError({ key, weight }: Waiter): Error {
    const { timeoutMs, timeoutError } = this.#options;
    const shortage = this.#shortage(key, weight) ?? "permits"; // there was room, but other waiters are ahead
    return timeoutError?.(shortage) ?? new NoPermitInTime(`No permit was free within ${timeoutMs} ms.`);
  }
}
