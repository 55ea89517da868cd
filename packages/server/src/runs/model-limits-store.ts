import type { LimitChange, RunLimit } from "../models/index.ts";
import type { Queryable } from "../platform/database/database.ts";
import { LANE } from "./run-limits.ts";

/** Initial limit for models whose limit adapts to their server's pace. */
const PACED_START = 2;

/**
 * The most runs of each model that may run at once in the whole installation, from this release's catalogue. A limit
 * that adapts to its server keeps the value it has found, within `max`.
 */
export async function writeModelLimits(db: Queryable, limits: ReadonlyMap<string, RunLimit>): Promise<void> {
  const rows = [...limits].toSorted(([a], [b]) => (a < b ? -1 : 1));
  await db.query(
    `insert into run_limits as r (scope, max_running)
     select 'model:' || l.model, case when l.paced then least(l.runs, $4) else l.runs end
     from unnest($1::text[], $2::int[], $3::bool[]) l (model, runs, paced)
     left join run_limits present on present.scope = 'model:' || l.model
     where present.scope is null or (case when l.paced then present.max_running > l.runs else present.max_running <> l.runs end)
     order by l.model
     on conflict (scope) do update set max_running = excluded.max_running where r.max_running <> excluded.max_running`,
    [rows.map(([model]) => model), rows.map(([, { max }]) => max), rows.map(([, { isPaced }]) => isPaced), PACED_START],
  );
}

/**
 * Changes a limit that adapts to its server, unless another worker changed it in the meantime or runs do not even reach
 * the current limit: then a higher limit would be untested.
 * @returns the limit that is in force.
 */
export async function adaptModelLimit(db: Queryable, model: string, { from, to }: LimitChange): Promise<number> {
  const [row] = await db.query<{ runs: number }>(
    `with changed as (
       update run_limits set max_running = $4 where scope = 'model:' || $2 and max_running = $3 and $4 <> $3
         and ($4 < $3 or $3 <= (select count(*) from runs where lane = $1 and worker is not null and model = $2))
       returning max_running)
     select coalesce((select max_running from changed),
       (select max_running from run_limits where scope = 'model:' || $2), $3) as runs`,
    [LANE, model, from, to],
  );
  return row?.runs ?? from;
}
