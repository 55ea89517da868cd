/**
 * How many requests of each account this process keeps open. Streams and waits can stay open for as long as a run takes,
 * so without a share one account could fill the process, and others would get only refusals.
 */
export interface OpenRequests {
  /** False, and not counted: the account has too many open. */
  add(owner: string): boolean;
  remove(owner: string): void;
}

export function createOpenRequests(accountOpenMax: number): OpenRequests {
  const open = new Map<string, number>();
  return {
    add(owner) {
      const count = open.get(owner) ?? 0;
      if (count >= accountOpenMax) return false;
      open.set(owner, count + 1);
      return true;
    },
    remove(owner) {
      const count = (open.get(owner) ?? 0) - 1;
      if (count > 0) open.set(owner, count);
      else open.delete(owner);
    },
  };
}
