import type { SystemState } from "@promptd/contract/manage";
import { queryAnswer, queryAnswers } from "../../platform/database/answers.ts";
import type { Database } from "../../platform/database/database.ts";
import { firstIdOfMs } from "../../platform/ids.ts";

/** Counting stops here: a queue of this length is in trouble, whatever its exact length. */
const WAITING_MAX = 10_000;
const FAILURES_SPAN_MS = 3_600_000;
const FAILURES_MAX = 20;

export async function readSystem(
  db: Database,
): Promise<Omit<SystemState, "version" | "mail" | "askedLinks" | "operatorsWithoutSignIn">> {
  const [clock] = await db.query<{ now: Date; bytes: number }>(
    "select promptd_now() as now, pg_database_size(current_database()) as bytes",
  );
  if (clock === undefined) throw new Error("The database did not return the time.");
  const [workers, queue, failures] = await Promise.all([
    listWorkers(db),
    readQueue(db),
    listFailures(db, clock.now.getTime() - FAILURES_SPAN_MS),
  ]);
  return { now: clock.now.toISOString(), workers, queue, failures, storage: { databaseBytes: clock.bytes } };
}

function listWorkers(db: Database): Promise<SystemState["workers"]> {
  return queryAnswers(
    db,
    `select w.id as "workerId", w.host, w.os_pid as pid, w.version, w.draining as "isDraining",
       w.started_at as "startedAt", w.heartbeat_at as "heartbeatAt",
       (select count(*)::int from runs r where r.worker = w.id) as running
     from workers w order by w.started_at`,
  );
}

/** Both counts read partial indexes of runs that are not final. */
async function readQueue(db: Database): Promise<SystemState["queue"]> {
  const queue = await queryAnswer<SystemState["queue"]>(
    db,
    `select count(*)::int as waiting, min(created_at) as "oldestAt",
       (select count(*)::int from runs where worker is not null) as running
     from (select created_at from runs where worker is null and finished_at is null limit $1) found`,
    [WAITING_MAX],
  );
  return queue ?? { waiting: 0, oldestAt: null, running: 0 };
}

/** Runs of the last hour are found by their ids, which begin with their time. */
function listFailures(db: Database, sinceMs: number): Promise<SystemState["failures"]> {
  return db.query(
    `select coalesce(fail_reason, 'unknown') as cause, model, count(*)::int as runs from runs
     where id >= $1 and status = 'failed' group by 1, 2 order by 3 desc, 1, 2 limit $2`,
    [firstIdOfMs(sinceMs), FAILURES_MAX],
  );
}
