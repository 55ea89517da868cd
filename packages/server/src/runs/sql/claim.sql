-- Claims up to p_n waiting runs for a worker, round robin over accounts and within the limits of accounts and models.
-- The cost is O(pairs scanned + live runs of the lane), and grows neither with the backlog nor with the inputs: inputs
-- of more than p_inputs bytes are returned as null, so that no claim takes longer than a statement may. The last row
-- always has the cursor (next_account, next_model; null = end of the circle), even if nothing was claimed.
-- Statistics reflect one moment: when they say that nothing waits, every index looks as good as runs_waiting. Only that
-- index provides the required orders, so sorting is off. Before PostgreSQL 18 such a plan looks expensive enough to be
-- compiled, which would take longer than everything else, so JIT is off too. A single plan, based on indexes alone,
-- serves every claim.
create or replace function run_claim(
  p_worker uuid, p_lane int, p_n int, p_after uuid, p_after_model text, p_lease interval, p_inputs int,
  p_scan int default 300
) returns table (
  account_id uuid, id uuid, attempt int, max_attempts int, deadline_at timestamptz, prompt_version_id uuid, model text,
  hold bigint, prices json, inputs json, run_options json, next_account uuid, next_model text
) language plpgsql set enable_sort = off set enable_seqscan = off set jit = off
  set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_now timestamptz;
begin
  -- the first statement, so that the next one reads a snapshot newer than the lock
  perform pg_advisory_xact_lock(18017, p_lane);
  -- the key-share lock makes a sweep's delete wait, so no run is claimed for a worker that was swept
  perform 1 from workers w
    where w.id = p_worker and not w.draining and w.heartbeat_at > promptd_now() - p_lease for key share;
  if not found then
    raise exception 'lease lost' using errcode = 'PD001';
  end if;
  v_now := promptd_now(); -- a variable: a volatile function is never an index condition
  return query
  with recursive pair (account_id, model, n) as ( -- skip-scan of the distinct (account, model) pairs with waiting runs
    (select r.account_id, r.model, 1 from runs r
      where r.lane = p_lane and r.worker is null and r.finished_at is null
        and (r.account_id, r.model) > (p_after, p_after_model)
      order by r.account_id, r.model limit 1)
    union all
    select x.account_id, x.model, pair.n + 1 from pair cross join lateral (
      select r.account_id, r.model from runs r
      where r.lane = p_lane and r.worker is null and r.finished_at is null
        and (r.account_id, r.model) > (pair.account_id, pair.model)
      order by r.account_id, r.model limit 1) x
    where pair.n < p_scan
  ), last as (
    select p.account_id, p.model from pair p where p.n = p_scan
  ), live as materialized (
    select r.account_id, r.model, count(*)::int as n from runs r
    where r.lane = p_lane and r.worker is not null group by 1, 2
  ), model_room as materialized (
    select l.model, l.max_running - coalesce(sum(v.n), 0)::int as free
    from (select substr(scope, 7) as model, max_running from run_limits where scope like 'model:%') l
    left join live v on v.model = l.model group by l.model, l.max_running
  ), account_room as materialized (
    select a.account_id, coalesce(own.max_running, def.max_running, 50) - coalesce(v.n, 0) as free, coalesce(v.n, 0) as live
    from (select distinct p.account_id from pair p) a
    left join (select w.account_id, sum(w.n)::int as n from live w group by 1) v on v.account_id = a.account_id
    left join run_limits own on own.scope = 'account:' || a.account_id
    left join run_limits def on def.scope = 'account'
  ), candidate as (
    select q.account_id, q.id, q.model, q.run_at, room.free as account_free,
      room.live + row_number() over (partition by q.account_id order by q.run_at, q.id) as round,
      row_number() over (partition by q.account_id order by q.run_at, q.id) as nth
    from pair p
    join account_room room on room.account_id = p.account_id
    left join model_room on model_room.model = p.model
    cross join lateral (
      select r.account_id, r.id, r.model, r.run_at from runs r
      where r.lane = p_lane and r.worker is null and r.finished_at is null
        and r.account_id = p.account_id and r.model = p.model and r.run_at <= v_now and r.deadline_at > v_now
      order by r.run_at, r.id
      limit greatest(0, least(p_n, room.free, coalesce(model_room.free, p_n)))) q
  ), fitting as (
    select c.*, row_number() over (partition by c.model order by c.round, c.run_at, c.id) as in_model
    from candidate c where c.nth <= c.account_free
  ), pick as materialized (
    select f.account_id, f.id from fitting f left join model_room on model_room.model = f.model
    where model_room.free is null or f.in_model <= model_room.free
    order by f.round, f.run_at, f.id limit p_n
  ), own as materialized (
    -- by primary key, one at a time: conditions in this form lead to no other index
    select r.place from pick k cross join lateral (
      select r.ctid as place from runs r
      where r.account_id = k.account_id and r.id = k.id and num_nonnulls(r.worker, r.finished_at) = 0
      for update skip locked) r
  ), taken as (
    update runs r set status = 'running', attempt = r.attempt + 1, worker = p_worker,
      started_at = coalesce(r.started_at, promptd_now())
    from own where r.ctid = own.place returning r.* -- by ctid: a join by key read all runs if few were known
  )
  select t.account_id, t.id, t.attempt, t.max_attempts, t.deadline_at, t.prompt_version_id, t.model, t.hold, t.prices,
    case when t.inputs_bytes <= p_inputs then t.inputs end, t.run_options, last.account_id, last.model
  from (values (1)) one left join taken t on true left join last on true;
end $$;

-- Whether a worker may begin new runs before they are written: it is alive and accepts runs. If so, the lane stays
-- locked until the caller commits, so that no claim counts without these runs. If another transaction holds that lock,
-- the runs take the usual path. Internal: the caller has checked that nothing else waits.
create or replace function run_may_claim(p_worker uuid, p_lane int, p_lease interval) returns boolean
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  if not pg_try_advisory_xact_lock(18017, p_lane) then return false; end if;
  -- as in a claim, but a caller that has locked an account's credits does not wait for a sweep
  perform 1 from workers w
    where w.id = p_worker and not w.draining and w.heartbeat_at > promptd_now() - p_lease for key share skip locked;
  return found;
end $$;

-- How many more runs of a model may begin now; the lane's lock keeps others from claiming meanwhile.
create or replace function run_model_room(p_lane int, p_model text) returns int
language plpgsql stable set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  v_max int := (select l.max_running from run_limits l where l.scope = 'model:' || p_model);
begin
  if v_max is null then return 2147483647; end if;
  return v_max - (select count(*)::int from runs r where r.lane = p_lane and r.worker is not null and r.model = p_model);
end $$;

-- How many runs of a lane wait, due or not, counted up to p_max, as the calling statement saw them when it began. As
-- above, only runs_waiting provides this order.
create or replace function run_waiting(p_lane int, p_max int) returns int
language plpgsql stable set enable_sort = off set enable_seqscan = off set jit = off
  set plan_cache_mode = force_generic_plan as $$
begin
  return (select count(*)::int from (
    select 1 from runs r where r.lane = p_lane and r.worker is null and r.finished_at is null
    order by r.account_id, r.model, r.run_at, r.id limit p_max) w);
end $$;
