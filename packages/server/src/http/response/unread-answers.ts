import { createOwnerCounts } from "../owner-counts.ts";

/**
 * How many bytes of answers each account has requested and not read yet. A page of runs can be 16 MiB, and a caller who
 * reads it slowly leaves it in this process's memory: five such requests per second would fill any machine, and so would
 * many accounts together.
 */
export interface UnreadAnswers {
  /** Whose limit is exceeded, so that the account must read what it has requested first; null: it may request more. */
  excessOf(owner: string): Excess | null;
  /**
   * Counts an answer until the returned function is called. Null: the answer would take the account or the process to
   * more than twice its limit, which only requests that were admitted earlier can, such as waits that end together.
   */
  add(owner: string, bytes: number): (() => void) | null;
}

/** Of the process: all accounts together. Only those that have unread answers are then refused. */
export type Excess = "account" | "process";

export interface UnreadAnswersLimits {
  /** Only answers larger than this count. */
  readonly smallAnswerBytesMax: number;
  readonly accountUnreadBytesMax: number;
  readonly totalUnreadBytesMax: number;
}

export function createUnreadAnswers(limits: UnreadAnswersLimits): UnreadAnswers {
  const { smallAnswerBytesMax, accountUnreadBytesMax, totalUnreadBytesMax } = limits;
  const unread = createOwnerCounts();
  let total = 0;
  const change = (owner: string, bytes: number) => {
    unread.add(owner, bytes);
    total += bytes;
  };
  return {
    excessOf(owner) {
      if (unread.of(owner) > accountUnreadBytesMax) return "account";
      return unread.of(owner) > 0 && total > totalUnreadBytesMax ? "process" : null;
    },
    add(owner, size) {
      const bytes = size > smallAnswerBytesMax ? size : 0;
      const isFull = unread.of(owner) + bytes > 2 * accountUnreadBytesMax || total + bytes > 2 * totalUnreadBytesMax;
      if (bytes > 0 && isFull) return null;
      change(owner, bytes);
      return () => change(owner, -bytes);
    },
  };
}
