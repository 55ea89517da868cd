import { Problem } from "../../platform/problem.ts";

/** Bytes. */
export interface BodyBudgetLimits {
  /** Larger bodies count, whole; smaller ones never do: five a second of each account are no load. */
  readonly smallBodyBytesMax: number;
  /** Of all accounts together. */
  readonly totalBodyBytesMax: number;
  /** Of one account, so that nobody who sends slowly keeps the others out. */
  readonly accountBodyBytesMax: number;
  /** How long a body waits, unread, for room. */
  readonly bodyWaitMs: number;
}

/** What one request's body may take of the memory for bodies. */
export interface BodyReservation {
  /** Resolves when there is room for a body of so many bytes in all. @throws Problem TOO_MANY_REQUESTS_ERROR. */
  waitFor(bytes: number): Promise<void>;
  /** The same at once, for a body that is being read. @throws Problem TOO_MANY_REQUESTS_ERROR. */
  readonly reserve: (bytes: number) => void;
  /** Gives the room back; more than once is once. */
  release(): void;
}

export interface BodyBudget {
  readonly heldBytes: number;
  reservation(accountId: string): BodyReservation;
}

interface Waiter {
  /** @returns false while there is no room. */
  tryTake(): boolean;
}

/**
 * The memory that bodies of requests may take in one process, from before they are read until they are worked up. A
 * body is up to 32 MiB, and a caller may take half a minute to send it: five a second would fill any machine.
 */
export function createBodyBudget(limits: BodyBudgetLimits): BodyBudget {
  const byAccount = new Map<string, number>();
  const waiting = new Set<Waiter>();
  let heldBytes = 0;

  function whyNot(accountId: string, bytes: number): Problem | null {
    const ofAccount = (byAccount.get(accountId) ?? 0) + bytes;
    if (ofAccount > limits.accountBodyBytesMax) return accountBusy(limits.accountBodyBytesMax);
    return heldBytes + bytes > limits.totalBodyBytesMax ? serverBusy() : null;
  }
  function take(accountId: string, bytes: number): void {
    const ofAccount = (byAccount.get(accountId) ?? 0) + bytes;
    heldBytes += bytes;
    if (ofAccount === 0) byAccount.delete(accountId);
    else byAccount.set(accountId, ofAccount);
  }
  /** In the order in which they came, past those whose account has no room. */
  function admitWaiting(): void {
    for (const waiter of waiting) if (waiter.tryTake()) waiting.delete(waiter);
  }
  /** Unread, a body stays with its caller and in the system's few buffers. @returns false when its time is over. */
  function queue(tryTake: () => boolean): Promise<boolean> {
    return new Promise((resolve) => {
      const waiter: Waiter = {
        tryTake: () => {
          if (!tryTake()) return false;
          clearTimeout(timer);
          resolve(true);
          return true;
        },
      };
      const timer = setTimeout(() => {
        waiting.delete(waiter);
        resolve(false);
      }, limits.bodyWaitMs);
      waiting.add(waiter);
    });
  }
  return {
    get heldBytes() {
      return heldBytes;
    },
    reservation(accountId) {
      let held = 0;
      const grow = (bytes: number): Problem | null => {
        const more = bytes > limits.smallBodyBytesMax ? Math.max(0, bytes - held) : 0;
        const fault = more === 0 ? null : whyNot(accountId, more);
        if (fault === null) take(accountId, more);
        if (fault === null) held += more;
        return fault;
      };
      const reserve = (bytes: number) => {
        const fault = grow(bytes);
        if (fault !== null) throw fault;
      };
      return {
        reserve,
        async waitFor(bytes) {
          if (grow(bytes) === null) return;
          if (!(await queue(() => grow(bytes) === null))) reserve(bytes);
        },
        release() {
          take(accountId, -held);
          held = 0;
          admitWaiting();
        },
      };
    },
  };
}

/** This process is full; another one, or the next moment, may have room. */
export function serverBusy(): Problem {
  return busy("The server is busy. Retry in 1 second.");
}

function accountBusy(bytesMax: number): Problem {
  const size = Math.floor(bytesMax / 1024 / 1024);
  return busy(`The account is sending more than ${size} MiB of requests at once. Wait for some to arrive, then retry.`);
}

function busy(message: string): Problem {
  return new Problem("TOO_MANY_REQUESTS_ERROR", message, { data: { reason: "SERVER_BUSY" } });
}
