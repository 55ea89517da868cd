-- The ways in which a worker returns runs to the queue.

-- Schedules another attempt after a delay. False: no attempt or no time is left, or the worker has lost the run.
create or replace function run_retry(p_worker uuid, p_account uuid, p_id uuid, p_attempt int, p_delay interval)
returns boolean language sql as $$
  with released as (
    update runs set worker = null, run_at = promptd_now() + p_delay
    where account_id = p_account and id = p_id and worker = p_worker and attempt = p_attempt
      and attempt < max_attempts and promptd_now() + p_delay < deadline_at
    returning 1
  )
  select exists (select 1 from released)
$$;

-- Returns runs to the queue without counting the attempt: the worker is stopping, or the provider asked to come back
-- later.
create or replace function run_release(p_worker uuid, p_account uuid[], p_id uuid[], p_attempt int[], p_delay interval)
returns setof uuid language sql as $$
  update runs r set worker = null, run_at = promptd_now() + p_delay, max_attempts = r.max_attempts + 1
  from unnest(p_account, p_id, p_attempt) d (account_id, id, attempt)
  where r.account_id = d.account_id and r.id = d.id and r.attempt = d.attempt and r.worker = p_worker
  returning r.id
$$;

-- Returns runs that a worker holds without knowing it: it lost a claim's response, or dropped the runs. The lock waits
-- for a claim that is still in progress. It is the first statement, so that the update sees what that claim wrote. A
-- run whose row is locked is left for the next call.
create or replace function run_release_unknown(p_worker uuid, p_lane int, p_known uuid[], p_attempt int[]) returns int
language plpgsql as $$
declare
  v_released int;
begin
  perform pg_advisory_xact_lock(18017, p_lane);
  with unknown as materialized (
    select r.account_id, r.id from runs r
    where r.worker = p_worker and r.lane = p_lane
      and not exists (select 1 from unnest(p_known, p_attempt) k (id, attempt) where k.id = r.id and k.attempt = r.attempt)
    for update of r skip locked
  )
  update runs r set worker = null, run_at = promptd_now(), max_attempts = r.max_attempts + 1
    from unknown where r.account_id = unknown.account_id and r.id = unknown.id;
  get diagnostics v_released = row_count;
  return v_released;
end $$;
