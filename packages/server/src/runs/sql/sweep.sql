-- Recovers runs of dead workers, and runs that were postponed because a clock stepped back. Touches no credits.

-- Workers that have runs but no row: dead, or swept while alive. A skip scan of the index on worker. It reads the runs
-- and not the rows that a sweep just deleted, so that no run is stranded by a skipped lock or by a sweep that died
-- halfway.
create or replace function run_lost_workers() returns uuid[] language sql as $$
  with recursive seen (worker) as (
    (select r.worker from runs r where r.worker is not null order by r.worker limit 1)
    union all
    select (select r.worker from runs r where r.worker > seen.worker order by r.worker limit 1) from seen where seen.worker is not null
  )
  select coalesce(array_agg(seen.worker), '{}') from seen
  where seen.worker is not null and not exists (select 1 from workers x where x.id = seen.worker)
$$;

-- Removes workers whose lease has expired, or whose heartbeat lies in the future because the clock stepped back, and
-- returns their runs to the queue, p_batch at a time. Waits for no lock, so a problem with one account does not block
-- the others.
create or replace function run_recover(p_lease interval, p_batch int) returns setof uuid language plpgsql as $$
declare
  v_dead uuid[];
  v_now timestamptz := promptd_now();
begin
  if not pg_try_advisory_xact_lock(18018, 0) then return; end if;
  delete from workers where id in (
    select id from workers where heartbeat_at < v_now - p_lease or heartbeat_at > v_now + p_lease for update skip locked);
  v_dead := run_lost_workers();
  if v_dead = '{}' then return; end if;
  return query
    with lost as materialized (
      select r.account_id, r.id from runs r
      where r.worker = any (v_dead) and r.attempt < r.max_attempts and r.deadline_at > v_now
      order by r.account_id, r.id limit p_batch for update skip locked
    )
    update runs r set worker = null, run_at = v_now from lost
    where r.account_id = lost.account_id and r.id = lost.id returning r.id;
end $$;

-- Makes runs due that are scheduled far ahead because the clock stepped back after their time was written. They are
-- found by their deadline, which has an index and is never further away than the longest run takes; a smaller step
-- resolves itself within that time. The time from start to deadline stays the same. Waits for no lock.
create or replace function run_reschedule(p_longest interval) returns setof uuid language plpgsql as $$
declare
  v_now timestamptz := promptd_now();
  v_limit timestamptz := v_now + p_longest + interval '1 min';
begin
  return query
    with ahead as materialized (
      select r.account_id, r.id from runs r
      where r.finished_at is null and r.deadline_at > v_limit and r.worker is null
      order by r.deadline_at desc limit 500 for update skip locked
    )
    update runs r set run_at = least(r.run_at, v_now), deadline_at = v_now + least(r.deadline_at - r.run_at, p_longest)
    from ahead where r.account_id = ahead.account_id and r.id = ahead.id returning r.id;
end $$;
