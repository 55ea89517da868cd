import { Problem } from "../platform/problem.ts";

/** Bytes. */
export interface BodyBudgetLimits {
  /** Larger bodies count, whole; smaller ones never do: five a second of each account are no load. */
  readonly smallBodyBytesMax: number;
  /** Of all accounts together. */
  readonly heldBodyBytesMax: number;
  /** Of one account, so that nobody who sends slowly keeps the others out. */
  readonly accountBodyBytesMax: number;
}

/** What one request's body may take of the memory for bodies. */
export interface BodyHold {
  /** Makes sure of room for a body of so many bytes in all. @throws Problem TOO_MANY_REQUESTS_ERROR. */
  readonly reserve: (bytes: number) => void;
  /** Gives the room back; more than once is once. */
  release(): void;
}

export interface BodyBudget {
  readonly heldBytes: number;
  hold(accountId: string): BodyHold;
}

/**
 * The memory that bodies of requests may take in one process, from before they are read until they are worked up. A
 * body is up to 32 MiB, and a caller may take half a minute to send it: five a second would fill any machine.
 */
export function createBodyBudget(limits: BodyBudgetLimits): BodyBudget {
  const byAccount = new Map<string, number>();
  let heldBytes = 0;

  function take(accountId: string, bytes: number): void {
    const ofAccount = (byAccount.get(accountId) ?? 0) + bytes;
    if (bytes > 0 && ofAccount > limits.accountBodyBytesMax) throw accountBusy(limits.accountBodyBytesMax);
    if (bytes > 0 && heldBytes + bytes > limits.heldBodyBytesMax) throw serverBusy();
    heldBytes += bytes;
    if (ofAccount === 0) byAccount.delete(accountId);
    else byAccount.set(accountId, ofAccount);
  }
  return {
    get heldBytes() {
      return heldBytes;
    },
    hold(accountId) {
      let held = 0;
      const resize = (bytes: number) => {
        take(accountId, bytes - held);
        held = bytes;
      };
      return {
        reserve(bytes) {
          if (bytes > limits.smallBodyBytesMax && bytes > held) resize(bytes);
        },
        release: () => resize(0),
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
