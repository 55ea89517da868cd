import { Problem } from "../../platform/problem.ts";
import { createSemaphore, type Permit } from "../../platform/resilience/semaphore.ts";

/** Bytes. */
export interface BodyBudgetLimits {
  /** Larger bodies count, whole; smaller ones never do: five a second of each account are no load. */
  readonly smallBodyBytesMax: number;
  /** Of all accounts together. */
  readonly totalBodyBytesMax: number;
  /** Of one account, so that nobody who sends slowly keeps the others out. */
  readonly accountBodyBytesMax: number;
  /** How long a body waits, unread, for memory. */
  readonly bodyWaitMs: number;
  /** How long a body that waits lets smaller ones pass. */
  readonly bodyPassMs: number;
}

/** The share of one request's body in the memory for bodies. */
export interface BodyReservation {
  /** Takes more at once, for a body that is being read. @throws Problem TOO_MANY_REQUESTS_ERROR. */
  readonly grow: (bytes: number) => void;
  /**
   * More than once is once. The share of a large body stays taken for a while longer, since reading it kept everybody
   * waiting: bodies of one account must not have all of the event loop's time.
   */
  release(): void;
}

export interface BodyBudget {
  /**
   * Resolves when there is memory for a body of so many bytes. Unread, a body stays with its caller and in the system's
   * few buffers. Rejects with the signal's reason, and with a Problem TOO_MANY_REQUESTS_ERROR.
   */
  reserve(accountId: string, bytes: number, signal: AbortSignal): Promise<BodyReservation>;
}

/**
 * Reading 32 MiB takes the event loop for some 100 ms, in pieces, so its account's share rests for 1.3 s: fewer than one
 * in twenty requests of the others then meet it (2026-11-23, bench/cases/fairness.ts).
 */
const RESTED_BYTES_PER_MS = 26_214;
/** Smaller bodies are read in a few milliseconds. */
const RESTING_BYTES = 4 * 1_048_576;

/**
 * The memory that bodies of requests may take in one process, from before they are read until they are worked up. A
 * body is up to 32 MiB, and a caller may take half a minute to send it: five a second would fill any machine. A body
 * that does not fit lets smaller ones pass for a while, or a hundred kilobytes would wait for 32 MiB; then it is the
 * next, or it would wait as long as smaller ones come.
 */
export function createBodyBudget(limits: BodyBudgetLimits): BodyBudget {
  const busy = (shortage: "permits" | "key") =>
    shortage === "key" ? accountBusy(limits.accountBodyBytesMax) : serverBusy();
  const memory = createSemaphore({
    permits: limits.totalBodyBytesMax,
    keyShareMax: limits.accountBodyBytesMax,
    timeoutMs: limits.bodyWaitMs,
    passMs: limits.bodyPassMs,
    timeoutError: busy,
  });
  const counted = (bytes: number) => (bytes > limits.smallBodyBytesMax ? bytes : 0);
  return {
    async reserve(accountId, bytes, signal) {
      const permit: Permit = await memory.acquire({ weight: counted(bytes), key: accountId, signal });
      let size = bytes;
      return {
        grow: (total) => {
          const shortage = permit.tryGrow(counted(total));
          if (shortage !== null) throw busy(shortage);
          size = total;
        },
        release: () => {
          if (size < RESTING_BYTES) permit.release();
          else setTimeout(() => permit.release(), size / RESTED_BYTES_PER_MS).unref();
        },
      };
    },
  };
}

/** This process is full; another one, or the next moment, may have room. */
export function serverBusy(): Problem {
  return serverBusyProblem("The server is busy. Retry in 1 second.");
}

function accountBusy(bytesMax: number): Problem {
  const size = Math.floor(bytesMax / 1024 / 1024);
  return serverBusyProblem(
    `The account is sending more than ${size} MiB of requests at once. Wait for some to arrive, then retry.`,
  );
}

function serverBusyProblem(message: string): Problem {
  return new Problem("TOO_MANY_REQUESTS_ERROR", message, { data: { reason: "SERVER_BUSY" } });
}
