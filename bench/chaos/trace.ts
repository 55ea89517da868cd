import type { Database } from "../../packages/server/src/platform/database.ts";

/** Lets the database note who had which run when, and which process was which worker: what re-claims are timed by. */
export async function beginTrace(db: Database): Promise<void> {
  await db.query(`
    create table chaos_runs (run_id uuid not null, attempt int not null, worker uuid, status text not null,
      at timestamptz not null default clock_timestamp());
    create table chaos_workers (id uuid primary key, os_pid int not null, at timestamptz not null default clock_timestamp());
    create index on chaos_runs (run_id, at);
    create index on chaos_runs (worker, at);
    create function chaos_note_run() returns trigger language plpgsql as $$ begin
      insert into chaos_runs (run_id, attempt, worker, status) values (new.id, new.attempt, new.worker, new.status);
      return null;
    end $$;
    create function chaos_note_worker() returns trigger language plpgsql as $$ begin
      insert into chaos_workers (id, os_pid) values (new.id, new.os_pid);
      return null;
    end $$;
    create trigger chaos_note_run after update of worker on runs for each row
      when (old.worker is distinct from new.worker) execute function chaos_note_run();
    create trigger chaos_note_worker after insert on workers for each row execute function chaos_note_worker()`);
}

export interface Kill {
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/**
 * Milliseconds from the death of a worker to the next claim of each run it had, ascending, and how many workers died with
 * runs in hand.
 */
export async function readReclaims(
  db: Database,
  kills: readonly Kill[],
): Promise<{ readonly ms: number[]; readonly workers: number }> {
  const rows = await db.tx(
    (tx) =>
      tx.query<{ ms: number; worker: string }>(
        `with killed as (
       select w.id as worker, to_timestamp(k.ms / 1000.0) as at
       from unnest($1::int[], $2::float8[]) k (pid, ms)
       join lateral (select id from chaos_workers where os_pid = k.pid and at <= to_timestamp(k.ms / 1000.0)
         order by at desc limit 1) w on true
     ), held as ( -- what a dead worker held: its claim is the last thing noted of the run before its death
       select k.at, k.worker, c.run_id, c.attempt from killed k
       join lateral (select distinct run_id from chaos_runs where worker = k.worker and at <= k.at) mine on true
       join lateral (select run_id, attempt, worker from chaos_runs
         where run_id = mine.run_id and at <= k.at order by at desc limit 1) c on c.worker = k.worker
     )
     select (extract(epoch from next.at - held.at) * 1000)::int as ms, held.worker from held
     join lateral (select min(at) as at from chaos_runs n
       where n.run_id = held.run_id and n.worker is not null and n.attempt > held.attempt) next on next.at is not null
     order by 1`,
        [kills.map((kill) => kill.pid), kills.map((kill) => kill.atMs)],
      ),
    { statementTimeoutMs: 0 },
  );
  return { ms: rows.map((row) => row.ms), workers: new Set(rows.map((row) => row.worker)).size };
}
