/**
 * What authors earn: a share of what others' runs of their prompts cost. The run's hold carries who earns and which share,
 * its capture books the earnings, and a tick makes credits of them (overdue-store.ts). The arithmetic is
 * `sql/author-earnings.sql`.
 */

export interface Earner {
  readonly accountId: string;
  readonly sharePercent: number;
}

interface EarningRun {
  readonly accountId: string;
  readonly authorId: string;
  /** Of this prompt, in percent; null: `defaultShare`. */
  readonly share: number | null;
  readonly defaultShare: number;
}

/** Who earns of a run that is charged; null: nobody but the operator. Nobody earns of their own runs. */
export function earnerOf({ accountId, authorId, share, defaultShare }: EarningRun): Earner | null {
  const sharePercent = authorId === accountId ? 0 : (share ?? defaultShare);
  return sharePercent === 0 ? null : { accountId: authorId, sharePercent };
}
