/**
 * The lease of a worker process: one row, renewed three times per lease, and more often after a failed heartbeat. The
 * lease counts as lost if the database says that the worker was swept, or if no heartbeat has succeeded for five sixths
 * of the lease. The worker then drops everything before another worker may claim it, and takes a new id at its next
 * contact with the database. The old row is swept like that of a dead process.
 */
import { hostname } from "node:os";
import type { Database, Queryable } from "../../platform/database/database.ts";
import { faultPoint } from "../../platform/fault-injection.ts";
import { shareCalls } from "../../platform/resilience/share-calls.ts";
import { createFailureLog, type Log } from "../../platform/log.ts";
import { VERSION } from "../../platform/version.ts";
import type { ClaimedRun } from "./claim.ts";

export interface LeaseOptions {
  /** A separate connection: a heartbeat must never wait behind other work. */
  readonly heartbeats: Database;
  readonly log: Log;
  readonly newId: () => string;
  readonly leaseMs: number;
  /** This worker no longer owns its runs. */
  readonly onLost: () => void;
  /**
   * Called after each successful heartbeat. `mayJudge`: the previous contact succeeded too, so other workers had time
   * to renew.
   */
  readonly onHeartbeat: (mayJudge: boolean) => Promise<void>;
}

export interface Lease {
  readonly workerId: string;
  /** False between losing the lease and getting a new one: claim nothing. */
  readonly isHeld: boolean;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const HEARTBEATS_PER_LEASE = 3;
const FENCE_SHARE = 5 / 6;
const CHECKS_PER_LEASE = 12;

export function createLease(options: LeaseOptions): Lease {
  const { heartbeats, log, leaseMs } = options;
  let workerId = options.newId();
  let isHeld = false;
  let renewedMs = 0;
  let triedMs = 0;
  /** Successful heartbeats since the last failure. */
  let goodInARow = 0;
  const failures = createFailureLog(log, "heartbeats fail; retrying", "heartbeats succeed again");
  let timer: NodeJS.Timeout | undefined;

  const renew = shareCalls(async () => {
    const sentMs = performance.now();
    triedMs = sentMs;
    try {
      if (!isHeld) await register();
      else if (!(await sendHeartbeat(heartbeats, workerId))) return lose("another process swept this worker");
      renewedMs = sentMs; // the lease counts from before the statement, whose response may have been slow
      goodInARow += 1;
      await options.onHeartbeat(goodInARow > 1);
      failures.worked();
    } catch (error) {
      goodInARow = 0;
      failures.failed(error);
    }
  });
  async function register(): Promise<void> {
    await registerWorker(heartbeats, workerId, VERSION);
    isHeld = true;
  }
  function lose(why: string): void {
    if (!isHeld) return;
    log.warn({ workerId }, `the lease was lost: ${why}; its runs are dropped here and will be claimed again`);
    isHeld = false;
    goodInARow = 0;
    workerId = options.newId();
    options.onLost();
  }
  /**
   * After an outage, every moment counts for runs whose workers died in it, so this does not wait for the next
   * heartbeat.
   */
  function check(): void {
    const nowMs = performance.now();
    if (isHeld && nowMs - renewedMs > leaseMs * FENCE_SHARE) lose("the database did not answer in time");
    if (goodInARow > 1 && nowMs - triedMs < leaseMs / HEARTBEATS_PER_LEASE) return;
    void renew();
  }

  return {
    get workerId() {
      return workerId;
    },
    get isHeld() {
      return isHeld;
    },
    start: async () => {
      renewedMs = performance.now();
      await register();
      goodInARow = 1;
      timer = setInterval(check, leaseMs / CHECKS_PER_LEASE);
    },
    stop: async () => {
      clearInterval(timer);
      await renew.untilIdle();
      if (isHeld)
        await removeWorker(heartbeats, workerId).catch((error: unknown) =>
          log.warn({ err: error }, "the worker's row could not be removed; it stays until it is swept"),
        );
      isHeld = false;
    },
  };
}

/**
 * Writes the worker's row on the connection that will carry its heartbeats; repeats the write if the response was lost.
 */
export async function registerWorker(heartbeats: Queryable, workerId: string, version: string): Promise<void> {
  await heartbeats.query(
    `insert into workers (id, host, os_pid, backend_pid, backend_start, version)
     select $1, $2, $3, pid, backend_start, $4 from pg_stat_activity where pid = pg_backend_pid()
     on conflict (id) do update set backend_pid = excluded.backend_pid, backend_start = excluded.backend_start,
       heartbeat_at = excluded.heartbeat_at`,
    [workerId, hostname(), process.pid, version],
  );
}

/** @returns false if this worker was swept. */
export async function sendHeartbeat(heartbeats: Queryable, workerId: string): Promise<boolean> {
  await faultPoint("heartbeat.before");
  const [row] = await heartbeats.query<{ alive: boolean }>(
    { name: "worker_heartbeat", text: "select worker_heartbeat($1) as alive" },
    [workerId],
  );
  return row?.alive === true;
}

export async function removeWorker(db: Queryable, workerId: string): Promise<void> {
  await db.query("delete from workers where id = $1", [workerId]);
}

/**
 * Finds attempts that this worker no longer owns: canceled, or swept and claimed by another worker. Waits for no lock.
 */
export async function findLostRuns(
  heartbeats: Queryable,
  workerId: string,
  runs: readonly ClaimedRun[],
): Promise<Pick<ClaimedRun, "runId" | "attempt">[]> {
  const rows = await heartbeats.query<{ id: string; attempt: number }>(
    {
      name: "worker_lost",
      text: `select d.id, d.attempt from unnest($2::uuid[], $3::uuid[], $4::int[]) d (account_id, id, attempt)
        where not exists (select 1 from runs r where r.account_id = d.account_id and r.id = d.id
          and r.attempt = d.attempt and r.worker = $1)`,
    },
    [workerId, runs.map((run) => run.accountId), runs.map((run) => run.runId), runs.map((run) => run.attempt)],
  );
  return rows.map(({ id, attempt }) => ({ runId: id, attempt }));
}
