/**
 * Workers that report too late. Each end of a run is reported again by the worker that ended it, twice at once; and
 * when a run is claimed again, the worker that had it before reports an end as well. None of these reports may have any
 * effect.
 */
import { setTimeout as wait } from "node:timers/promises";
import { openDatabase, type Database } from "../../packages/server/src/platform/database/database.ts";
import { codeOf } from "../../packages/server/src/platform/reason-of.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";

export interface Zombies {
  /** Call it when no run is open any longer; calling it again gives the same result. */
  stop(): Promise<{ readonly lateFinishes: number; readonly violations: readonly string[] }>;
}

interface LateFinish {
  readonly account_id: string;
  readonly run_id: string;
  readonly attempt: number;
  readonly worker: string;
}

const LOOK_MS = 20;
/** Differs from what the run's own end requested: a second capture shows in the balance. */
const CREDITS = 3;
const RUN_FINISH = `select run_finish($1, array[$2::uuid], array[$3::uuid], array[$4::int], array[true],
  array[$5::bigint], array[$6::json], array[null::text])`;
const OUTPUTS = JSON.stringify([{ type: "text", data: "from the grave" }]);
/** Table constraints, and what the functions themselves raise. */
const BROKEN_RULE = /^(23|PD)/;

/** @param url the database, bypassing the proxy, with a trace that records what is due. */
export async function startZombies(url: string): Promise<Zombies> {
  const db = await openDatabase({ url, role: "chaos", log: createLog("silent", "stderr"), poolMax: 4 });
  const stopping = new AbortController();
  const violations: string[] = [];
  let lateFinishes = 0;

  async function report(late: LateFinish): Promise<void> {
    const found = await reportEnd(db, late);
    if (found === null) return;
    lateFinishes += 1;
    violations.push(...found);
  }
  async function reportDue(): Promise<number> {
    const due = await takeDue(db);
    await Promise.all(due.flatMap((late) => [report(late), report(late)]));
    return due.length;
  }
  const walking = (async () => {
    while (!stopping.signal.aborted) {
      await reportDue();
      await wait(LOOK_MS);
    }
    while ((await reportDue()) > 0);
  })();
  async function end() {
    stopping.abort();
    await walking;
    await db.close();
    if (lateFinishes === 0) violations.push("no finish was sent again: the run proves nothing about late ones");
    return { lateFinishes, violations };
  }
  let ended: ReturnType<typeof end> | null = null;
  return { stop: () => (ended ??= end()) };
}

async function takeDue(db: Database): Promise<readonly LateFinish[]> {
  const taken = db.query<LateFinish>("delete from chaos_due returning account_id, run_id, attempt, worker");
  return taken.catch(() => []); // the database is down: what is due stays due
}

/** @returns the forbidden effect; null: the report has not arrived. */
async function reportEnd(db: Database, late: LateFinish): Promise<string[] | null> {
  try {
    const values = [late.worker, late.account_id, late.run_id, late.attempt, CREDITS, OUTPUTS];
    const rows = await db.tx((tx) => tx.query(RUN_FINISH, values)); // each on a connection of its own
    return rows.map(() => `a late finish was taken: ${late.run_id}, attempt ${late.attempt}`);
  } catch (error) {
    if (!BROKEN_RULE.test(codeOf(error) ?? "")) return null; // the database is down
    return [`a late finish broke: ${late.run_id}, ${error instanceof Error ? error.message : String(error)}`];
  }
}
