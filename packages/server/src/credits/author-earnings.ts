/**
 * Authors earn a share of what other accounts' runs of their prompts cost. The run's hold records who earns and which
 * share, its capture books the earnings, and a tick turns them into credits (overdue-store.ts). The arithmetic is in
 * `sql/author-earnings.sql`.
 */

export interface Earner {
  readonly accountId: string;
  readonly sharePercent: number;
}

interface EarningRun {
  readonly accountId: string;
  readonly authorId: string;
  /** The prompt's own share, in percent; null: `defaultShare`. */
  readonly share: number | null;
  readonly defaultShare: number;
}

/** Returns who earns from a charged run; null: only the operator. Nobody earns from their own runs. */
export function earnerOf({ accountId, authorId, share, defaultShare }: EarningRun): Earner | null {
  const sharePercent = authorId === accountId ? 0 : (share ?? defaultShare);
  return sharePercent === 0 ? null : { accountId: authorId, sharePercent };
}
