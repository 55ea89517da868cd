-- Provider calls: counted before they are made, and how they ended. One generic plan serves every call, because planning
-- took longer than everything else. The plan is right for any number of rows: it uses only indexes, one call after another.

-- Counts calls before they are made, many at once: reads the earlier calls of each item, and inserts the next one unless
-- p_max calls were made or a started job is open. No two may be for the same item. A request token that already exists is
-- counted once. Rows are inserted in key order, so that two processes cannot deadlock. Returns one row per call, in the
-- same order; begun and open are null if another attempt took the number at the same moment.
create or replace function provider_calls_begin(
  p_run uuid[], p_step int[], p_item int[], p_account uuid[], p_attempt int[], p_model text[], p_provider text[],
  p_provider_model text[], p_token uuid[], p_max int
) returns table (calls int, begun int, open int, open_model text, operation json, followed boolean)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
begin
  return query
  with asked as (
    select * from unnest(p_run, p_step, p_item, p_account, p_attempt, p_model, p_provider, p_provider_model, p_token)
      with ordinality as a (run_id, step, item, account_id, attempt, model, provider, provider_model, request_token, nth)
  ), state as materialized (
    select a.*, counted.calls, counted.own, open.call_number as open, open.model as open_model, open.operation
    from asked a
    cross join lateral (
      select coalesce(max(c.call_number), 0) as calls,
        max(c.call_number) filter (where c.request_token = a.request_token) as own
      from provider_calls c
      where c.run_id = a.run_id and c.step = a.step and c.item = a.item) counted
    left join lateral (select c.call_number, c.model, c.operation from provider_calls c
      where c.run_id = a.run_id and c.step = a.step and c.item = a.item
        and c.operation is not null and (c.outcome is null or c.outcome in ('image', 'video'))
      order by c.call_number desc limit 1) open on true
  ), begun as (
    insert into provider_calls (run_id, step, item, call_number, account_id, attempt, model, provider, provider_model,
      request_token)
    select run_id, step, item, calls + 1, account_id, attempt, model, provider, provider_model, request_token
    from state
    where calls < p_max and own is null and open is null order by run_id, step, item
    on conflict do nothing
    returning run_id, step, item, call_number
  )
  select s.calls, coalesce(s.own, b.call_number), s.open, s.open_model, s.operation,
    exists (select from run_followers f where f.run_id = s.run_id and f.until > promptd_now())
  from state s
  left join begun b on b.run_id = s.run_id and b.step = s.step and b.item = s.item
  order by s.nth;
end $$;

-- Counts the first calls of runs that are created in the same transaction, at these positions of the arrays. Nobody else
-- knows of the runs yet, so nothing is looked up.
create or replace function provider_calls_begin_first(
  p_places int[], p_run uuid[], p_account uuid[], p_model text[], p_provider text[], p_provider_model text[]
) returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  insert into provider_calls (run_id, step, item, call_number, account_id, attempt, model, provider, provider_model)
    select p_run[n], 0, 0, 1, p_account[n], 1, p_model[n], p_provider[n], p_provider_model[n] from unnest(p_places) n;
end $$;

-- Records how calls ended, many at once; a call that already ended keeps its first outcome. A job that timed out continues at
-- its provider: its call ends when it has been canceled there. Each row is found by its key and updated by its ctid. No lock
-- order is needed, since no two processes end the same calls.
create or replace function provider_calls_end(
  p_run uuid[], p_step int[], p_item int[], p_call int[], p_outcome text[], p_status int[], p_code text[],
  p_request text[], p_usage json[], p_estimated boolean[], p_cost bigint[]
) returns void language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  with open as materialized (
    select d.*, c.place
    from unnest(p_run, p_step, p_item, p_call, p_outcome, p_status, p_code, p_request, p_usage, p_estimated, p_cost)
      d (run_id, step, item, call_number, outcome, status, code, request, usage, estimated, cost)
    cross join lateral (
      select c.ctid as place from provider_calls c
      where c.run_id = d.run_id and c.step = d.step and c.item = d.item and c.call_number = d.call_number limit 1) c
  )
  update provider_calls c
  set ended_at = case when d.outcome = 'timeout' and c.operation is not null then null else promptd_now() end,
    outcome = d.outcome, http_status = d.status, provider_code = d.code, request_id = d.request,
    usage = d.usage, usage_estimated = d.estimated, cost_micro = d.cost
  from open d where c.ctid = d.place and c.ended_at is null;
end $$;
