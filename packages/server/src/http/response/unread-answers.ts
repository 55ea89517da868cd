/**
 * How many bytes of answers each account has requested and not read yet. A page of runs can be 16 MiB, and a caller who
 * reads it slowly leaves it in this process's memory: five such requests per second would fill any machine.
 */
export interface UnreadAnswers {
  /** True: the account must read what it has requested before it requests more. */
  hasTooMany(owner: string): boolean;
  /**
   * Counts an answer until the returned function is called. Null: the answer would take the account to more than twice
   * the limit, which only requests that were admitted long ago can, such as waits that end together.
   */
  add(owner: string, bytes: number): (() => void) | null;
}

export interface UnreadAnswersLimits {
  /** Only answers larger than this count. */
  readonly smallAnswerBytesMax: number;
  readonly accountUnreadBytesMax: number;
}

export function createUnreadAnswers(limits: UnreadAnswersLimits): UnreadAnswers {
  const { smallAnswerBytesMax, accountUnreadBytesMax } = limits;
  const unread = new Map<string, number>();
  const change = (owner: string, bytes: number) => {
    const now = (unread.get(owner) ?? 0) + bytes;
    if (now > 0) unread.set(owner, now);
    else unread.delete(owner);
  };
  return {
    hasTooMany: (owner) => (unread.get(owner) ?? 0) > accountUnreadBytesMax,
    add(owner, size) {
      const bytes = size > smallAnswerBytesMax ? size : 0;
      if (bytes > 0 && (unread.get(owner) ?? 0) + bytes > 2 * accountUnreadBytesMax) return null;
      change(owner, bytes);
      return () => change(owner, -bytes);
    },
  };
}
