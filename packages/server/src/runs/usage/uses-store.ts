import type { Tx } from "../../platform/database/database.ts";
import { firstIdOfMs, idTimeMs } from "../../platform/ids.ts";

export interface UncountedUses {
  /** Number of runs per prompt version. */
  readonly uses: ReadonlyMap<string, number>;
  /** False: the span ended before all runs were counted. */
  readonly isAll: boolean;
}

/** A mark further ahead than this was set by a wrong clock, not by a clock that is slightly off. */
const MARK_AHEAD_MAX_MS = 60_000;

/**
 * Returns the runs of the next `spanMs` after the mark that are at least `settleMs` old, and moves the mark in the same
 * transaction. Times are the database's. A mark in the future is moved back to the present: runs of a time that comes
 * twice may be counted twice, but while a mark stood a year ahead, a whole year of runs would not be counted at all.
 */
export async function takeUncountedUses(
  tx: Tx,
  { settleMs, spanMs }: { readonly settleMs: number; readonly spanMs: number },
): Promise<UncountedUses> {
  const [mark] = await tx.query<{ counted_to: string; now: Date }>(
    "select counted_to, promptd_now() as now from run_counts where name = 'uses' for update",
  );
  if (mark === undefined) throw new Error("The count of uses has no mark.");
  const fromMs = idTimeMs(mark.counted_to);
  const endMs = mark.now.getTime() - settleMs;
  if (fromMs >= endMs) {
    if (fromMs > endMs + MARK_AHEAD_MAX_MS) await moveUsesMark(tx, firstIdOfMs(endMs));
    return { uses: new Map(), isAll: true };
  }
  const toMs = Math.min(endMs, fromMs + spanMs);
  const rows = await tx.query<{ prompt_version_id: string; uses: number }>(
    `select prompt_version_id, count(*) as uses from runs where id >= $1 and id < $2
     group by prompt_version_id order by prompt_version_id`,
    [mark.counted_to, firstIdOfMs(toMs)],
  );
  await moveUsesMark(tx, firstIdOfMs(toMs));
  return { uses: new Map(rows.map((row) => [row.prompt_version_id, row.uses])), isAll: toMs === endMs };
}

async function moveUsesMark(tx: Tx, countedTo: string): Promise<void> {
  await tx.query("update run_counts set counted_to = $1 where name = 'uses'", [countedTo]);
}
