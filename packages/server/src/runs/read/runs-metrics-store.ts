import type { Queryable } from "../../platform/database/database.ts";
import { familyOf, singleFamily, type Family } from "../../platform/metrics/metrics.ts";

/** Counting stops here, which bounds what a scrape costs: counting 100,000 waiting runs takes 20 to 60 ms (2026-11-28). */
const COUNTED_MAX = 100_000;

interface Counts {
  readonly waiting: number;
  readonly waitingSeconds: number;
  readonly running: number;
  readonly workers: number;
  readonly runningBatches: number;
  readonly pausedBatches: number;
}

/** Reads only partial indexes: runs and batches that are not final. A worker counts for the longest lease. */
const COUNT = `select waiting, waiting_seconds as "waitingSeconds",
    (select count(*)::int from runs where worker is not null) as running,
    (select count(*)::int from workers where heartbeat_at > promptd_now() - interval '1 min') as workers,
    running as "runningBatches", paused as "pausedBatches"
  from (
    select count(*)::int as waiting,
      coalesce(greatest(extract(epoch from promptd_now() - min(run_at)), 0), 0)::float8 as waiting_seconds
    from (select run_at from runs where worker is null and finished_at is null limit $1) w
  ) waiting_runs, (
    select count(*) filter (where status = 'running')::int as running, count(*) filter (where status = 'paused')::int as paused
    from batches where finished_at is null
  ) open_batches`;

/** Reads how many runs, workers, and batches the installation has. */
export async function readRunsMetrics(db: Queryable): Promise<Family[]> {
  const [counts] = await db.query<Counts>({ name: "runs_metrics", text: COUNT }, [COUNTED_MAX]);
  if (counts === undefined) throw new Error("The database did not count the runs.");
  const { waiting, waitingSeconds, running, workers, runningBatches, pausedBatches } = counts;
  const runs = {
    name: "promptd_installation_runs",
    help: `Runs of the installation that are not final, by state; of the waiting runs, at most ${COUNTED_MAX} are counted.`,
  };
  const oldest = {
    name: "promptd_installation_longest_wait_seconds",
    help: "How long the waiting run that was due first has been due, in the installation.",
  };
  const alive = {
    name: "promptd_installation_workers",
    help: "Workers of the installation with a heartbeat within the last minute.",
  };
  const batches = { name: "promptd_installation_batches", help: "Batches of the installation, by state." };
  return [
    familyOf(runs, ["state"], byState({ waiting, running })),
    singleFamily(oldest, waitingSeconds),
    singleFamily(alive, workers),
    familyOf(batches, ["state"], byState({ running: runningBatches, paused: pausedBatches })),
  ];
}

function byState(counts: Readonly<Record<string, number>>) {
  return Object.entries(counts).map(([state, count]) => [[state], count] as const);
}
