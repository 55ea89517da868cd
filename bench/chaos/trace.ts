import type { Database } from "../../packages/server/src/platform/database/database.ts";

/**
 * Makes the database record which worker had which run when, and which process was which worker: reclaims are timed by
 * this. It also records whose report of an end must be repeated too late (chaos_due): by the worker that ended a run,
 * and by the worker that had it before it was claimed again.
 */
export async function beginTrace(db: Database): Promise<void> {
  await db.query(`
    create table chaos_runs (run_id uuid not null, attempt int not null, worker uuid, status text not null,
      with_create boolean not null, at timestamptz not null default clock_timestamp());
    create table chaos_workers (id uuid primary key, os_pid int not null, at timestamptz not null default clock_timestamp());
    create table chaos_due (account_id uuid not null, run_id uuid not null, attempt int not null, worker uuid not null);
    create index on chaos_runs (run_id, at);
    create index on chaos_runs (worker, at);
    create function chaos_note_run() returns trigger language plpgsql as $$ begin
      insert into chaos_runs (run_id, attempt, worker, status, with_create)
        values (new.id, new.attempt, new.worker, new.status, tg_op = 'INSERT');
      if new.status in ('succeeded', 'failed') and old.worker is not null then
        insert into chaos_due values (new.account_id, new.id, new.attempt, old.worker);
      elsif new.worker is not null and new.attempt > 1 then
        insert into chaos_due select new.account_id, new.id, c.attempt, c.worker from chaos_runs c
          where c.run_id = new.id and c.attempt < new.attempt and c.worker is not null order by c.at desc limit 1;
      end if;
      return null;
    end $$;
    create table chaos_overruns (budget_id uuid not null, used bigint not null, cap bigint not null);
    create function chaos_note_overrun() returns trigger language plpgsql as $$ begin
      insert into chaos_overruns select new.budget_id, new.used, k.monthly_cap from api_keys k
        where k.id = new.budget_id and new.used > k.monthly_cap;
      return null;
    end $$;
    create trigger chaos_note_overrun after insert or update on credit_budgets for each row
      execute function chaos_note_overrun();
    create function chaos_note_worker() returns trigger language plpgsql as $$ begin
      insert into chaos_workers (id, os_pid) values (new.id, new.os_pid);
      return null;
    end $$;
    create trigger chaos_note_run after update of worker on runs for each row
      when (old.worker is distinct from new.worker) execute function chaos_note_run();
    create trigger chaos_note_claim after insert on runs for each row
      when (new.worker is not null) execute function chaos_note_run();
    create trigger chaos_note_worker after insert on workers for each row execute function chaos_note_worker()`);
}

/** Budgets that exceeded the cap of their key at any time, whatever was returned later. */
export async function readOverruns(db: Database): Promise<string[]> {
  const rows = await db.query<{ budget_id: string; used: number; cap: number }>(
    "select * from chaos_overruns limit 20",
  );
  return rows.map((row) => `a cap was passed: key ${row.budget_id} used ${row.used} of ${row.cap}`);
}

/** Runs that began at creation, in the process that created them. */
export async function countBegunWithCreate(db: Database): Promise<number> {
  const rows = await db.query<{ n: number }>("select count(*)::int as n from chaos_runs where with_create");
  return rows[0]?.n ?? 0;
}

export interface Kill {
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** A period during which the database accepted nothing; milliseconds since 1970. */
export interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What happened to a run that a killed worker held; milliseconds since its death. */
export interface Reclaim {
  readonly runId: string;
  readonly worker: string;
  /** Milliseconds since 1970. */
  readonly diedAtMs: number;
  /** Taken from the dead worker: by a sweep, or by the end of the run that the worker had still sent. Null: never. */
  readonly freedMs: number | null;
  /** Claimed by another worker. Null: never. */
  readonly claimedMs: number | null;
  /** Final without another claim: its end was already in transit, or no attempt was left. */
  readonly isEnded: boolean;
}

interface ReclaimRow {
  run_id: string;
  worker: string;
  died_at_ms: number;
  freed_ms: number | null;
  claimed_ms: number | null;
  is_ended: boolean;
}

export async function readReclaims(db: Database, kills: readonly Kill[]): Promise<Reclaim[]> {
  const rows = await db.tx(
    (tx) =>
      tx.query<ReclaimRow>(
        `with killed as ( -- a process that lost its lease has gone on under another id
       select w.id as worker, to_timestamp(k.ms / 1000.0) as at from unnest($1::int[], $2::float8[]) k (pid, ms)
       join chaos_workers w on w.os_pid = k.pid and w.at <= to_timestamp(k.ms / 1000.0)
     ), held as ( -- what a dead worker held: its claim is the last thing noted of the run before its death
       select k.at, k.worker, c.run_id, c.attempt from killed k
       join lateral (select distinct run_id from chaos_runs where worker = k.worker and at <= k.at) mine on true
       join lateral (select run_id, attempt, worker from chaos_runs
         where run_id = mine.run_id and at <= k.at order by at desc limit 1) c on c.worker = k.worker
     )
     select held.run_id, held.worker, (extract(epoch from held.at) * 1000)::float8 as died_at_ms,
       (extract(epoch from freed.at - held.at) * 1000)::int as freed_ms,
       (extract(epoch from next.at - held.at) * 1000)::int as claimed_ms, ended.at is not null as is_ended
     from held
     cross join lateral (select min(at) as at from chaos_runs n where n.run_id = held.run_id and n.at > held.at) freed
     cross join lateral (select min(at) as at from chaos_runs n where n.run_id = held.run_id and n.at > held.at
       and n.attempt > held.attempt) next
     cross join lateral (select min(at) as at from chaos_runs n where n.run_id = held.run_id and n.at > held.at
       and n.attempt = held.attempt and n.status in ('succeeded', 'failed')) ended`,
        [kills.map((kill) => kill.pid), kills.map((kill) => kill.atMs)],
      ),
    { statementTimeoutMs: 0 },
  );
  return rows.map((row) => ({
    runId: row.run_id,
    worker: row.worker,
    diedAtMs: row.died_at_ms,
    freedMs: row.freed_ms,
    claimedMs: row.claimed_ms,
    isEnded: row.is_ended,
  }));
}
