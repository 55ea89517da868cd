/** Counts by owner, which may be any number of accounts and addresses: an owner whose count is 0 is forgotten. */
export interface OwnerCounts {
  of(owner: string): number;
  add(owner: string, by: number): void;
}

export function createOwnerCounts(): OwnerCounts {
  const counts = new Map<string, number>();
  const of = (owner: string) => counts.get(owner) ?? 0;
  return {
    of,
    add(owner, by) {
      const count = of(owner) + by;
      if (count > 0) counts.set(owner, count);
      else counts.delete(owner);
    },
  };
}
