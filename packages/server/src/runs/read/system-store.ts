import type { SystemState } from "@promptd/contract/manage";
import type { Database } from "../../platform/database/database.ts";
import { firstIdOfMs } from "../../platform/ids.ts";

/** Nobody counts on; a queue of this length is in trouble whatever its exact length. */
const WAITING_MAX = 10_000;
const FAILURES_SPAN_MS = 3_600_000;
const FAILURES_MAX = 20;

interface WorkerRow {
  id: string;
  host: string;
  os_pid: number;
  version: string;
  draining: boolean;
  started_at: Date;
  heartbeat_at: Date;
  running: number;
}

export async function readSystem(
  db: Database,
): Promise<Omit<SystemState, "version" | "mail" | "askedLinks" | "operatorsWithoutSignIn">> {
  const [clock] = await db.query<{ now: Date; bytes: number }>(
    "select promptd_now() as now, pg_database_size(current_database()) as bytes",
  );
  if (clock === undefined) throw new Error("The database answered no time.");
  const [workers, queue, failures] = await Promise.all([
    listWorkers(db),
    readQueue(db),
    listFailures(db, clock.now.getTime() - FAILURES_SPAN_MS),
  ]);
  return { now: clock.now.toISOString(), workers, queue, failures, storage: { databaseBytes: clock.bytes } };
}

async function listWorkers(db: Database): Promise<SystemState["workers"]> {
  const rows = await db.query<WorkerRow>(
    `select w.id, w.host, w.os_pid, w.version, w.draining, w.started_at, w.heartbeat_at,
       (select count(*)::int from runs r where r.worker = w.id) as running
     from workers w order by w.started_at`,
  );
  return rows.map((row) => ({
    workerId: row.id,
    host: row.host,
    pid: row.os_pid,
    version: row.version,
    isDraining: row.draining,
    startedAt: row.started_at.toISOString(),
    heartbeatAt: row.heartbeat_at.toISOString(),
    running: row.running,
  }));
}

/** Both counts read partial indexes of what is not final. */
async function readQueue(db: Database): Promise<SystemState["queue"]> {
  const [row] = await db.query<{ waiting: number; oldest: Date | null; running: number }>(
    `select count(*)::int as waiting, min(created_at) as oldest,
       (select count(*)::int from runs where worker is not null) as running
     from (select created_at from runs where worker is null and finished_at is null limit $1) found`,
    [WAITING_MAX],
  );
  return { waiting: row?.waiting ?? 0, oldestAt: row?.oldest?.toISOString() ?? null, running: row?.running ?? 0 };
}

/** Runs of the last hour are found by their ids, which begin with their time. */
function listFailures(db: Database, sinceMs: number): Promise<SystemState["failures"]> {
  return db.query(
    `select coalesce(fail_reason, 'unknown') as cause, model, count(*)::int as runs from runs
     where id >= $1 and status = 'failed' group by 1, 2 order by 3 desc, 1, 2 limit $2`,
    [firstIdOfMs(sinceMs), FAILURES_MAX],
  );
}
