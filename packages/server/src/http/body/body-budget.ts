import { Problem } from "../../platform/problem.ts";
import { createSemaphore, type Permit } from "../../platform/resilience/semaphore.ts";
import type { Excess, UnreadAnswersLimits } from "../response/unread-answers.ts";

/** Bytes. */
export interface BodyBudgetLimits {
  /** Only bodies larger than this count, with their full size: five small bodies per second and account do not matter. */
  readonly smallBodyBytesMax: number;
  /** For all accounts together. */
  readonly totalBodyBytesMax: number;
  /** For one account, so that a slow sender cannot block the others. */
  readonly accountBodyBytesMax: number;
  /** How long a body waits, unread, for memory. */
  readonly bodyWaitMs: number;
  /** How long a waiting body lets smaller bodies go first. */
  readonly bodyPassMs: number;
}

/** One request body's share of the memory for bodies. */
export interface BodyReservation {
  /** Reserves more without waiting, for a body that is being read. @throws Problem TOO_MANY_REQUESTS_ERROR. */
  readonly grow: (bytes: number) => void;
  /**
   * Idempotent. The share of a large body stays reserved for a while longer: reading it blocked everyone else, and the
   * bodies of one account must not use all of the event loop's time.
   */
  release(): void;
}

export interface BodyBudget {
  /**
   * Resolves when there is memory for a body of `bytes`. Until then the body stays with its caller and in the kernel's
   * small buffers. Rejects with the signal's reason or with a Problem TOO_MANY_REQUESTS_ERROR.
   */
  reserve(accountId: string, bytes: number, signal: AbortSignal): Promise<BodyReservation>;
}

/**
 * Reading 32 MiB occupies the event loop for about 100 ms, in pieces, so the account's share stays reserved for another
 * 1.3 s. Fewer than one in twenty requests of other accounts are then delayed (2026-11-23, bench/cases/fairness.ts).
 */
const RESTED_BYTES_PER_MS = 26_214;
/** Smaller bodies are read within a few milliseconds. */
const RESTING_BYTES = 4 * 1_048_576;

/**
 * Limits the memory that request bodies use in one process, from before they are read until they are processed. A body
 * can be 32 MiB, and a caller may take half a minute to send it: five per second would fill any machine. A body that
 * does not fit lets smaller bodies go first for a while, so that 100 kB need not wait for 32 MiB. Then it is next, so
 * that a stream of smaller bodies cannot hold it up forever.
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

/** This process is full; another process may have room, or this one may a moment later. */
export function serverBusy(): Problem {
  return serverBusyProblem("The server is busy. Retry in 1 second.");
}

function accountBusy(bytesMax: number): Problem {
  const size = Math.floor(bytesMax / 1024 / 1024);
  return serverBusyProblem(
    `The account is sending more than ${size} MiB of requests at once. Wait for some of them to finish, then retry.`,
  );
}

export function answersUnread(excess: Excess, limits: Omit<UnreadAnswersLimits, "smallAnswerBytesMax">): Problem {
  const { accountUnreadBytesMax, totalUnreadBytesMax } = limits;
  const sizeOf = (bytes: number) => `${Math.floor(bytes / 1024 / 1024)} MiB`;
  const why =
    excess === "account"
      ? `The account has more than ${sizeOf(accountUnreadBytesMax)} of responses that it has not read.`
      : `The account has responses that it has not read, and all accounts together have more than ${sizeOf(totalUnreadBytesMax)} of them.`;
  return serverBusyProblem(`${why} Read them or close their connections, then retry.`);
}

export function tooManyOpen(): Problem {
  return serverBusyProblem(
    "The account has half of the requests open that this server accepts from everybody. Close streams that nobody reads, or wait for some of its requests to finish, then retry.",
  );
}

function serverBusyProblem(message: string): Problem {
  return new Problem("TOO_MANY_REQUESTS_ERROR", message, { data: { reason: "SERVER_BUSY" } });
}
