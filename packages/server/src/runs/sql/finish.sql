-- The end of runs. A single plan serves every statement, because planning took a third of their time. It stays right
-- however many rows there are: each row is found by its key, or by its location once it is locked.

-- Makes runs final, settles their holds, counts them as used and reports them to webhooks. Internal: the caller has locked and fenced these rows, in id order.
create or replace function run_settle(
  p_account uuid[], p_id uuid[], p_ok boolean[], p_credits bigint[], p_outputs json[], p_reason text[]
) returns setof uuid language plpgsql
  set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  v_account uuid[]; v_id uuid[]; v_credits bigint[];
begin
  with due as materialized (
    select r.place, d.ok, d.credits, d.outputs, d.reason
    from unnest(p_account, p_id, p_ok, p_credits, p_outputs, p_reason) d (account_id, id, ok, credits, outputs, reason)
    cross join lateral (
      -- a condition in this form leads to no other index
      select r.ctid as place from runs r
      where r.account_id = d.account_id and r.id = d.id and num_nonnulls(r.finished_at) = 0 limit 1) r
  ), finished as (
    update runs r set status = case when d.ok then 'succeeded' else 'failed' end, worker = null,
      finished_at = promptd_now(), outputs = d.outputs, fail_reason = d.reason,
      credits = case when r.hold is null then null when d.ok then least(greatest(d.credits, 0), r.hold) else 0 end
    from due d where r.ctid = d.place
    returning r.account_id, r.id, coalesce(r.credits, 0) as credits, r.prompt_version_id, r.model, r.api_key_id,
      d.ok, r.finished_at
  ), used as (
    insert into usage_events (account_id, run_id, prompt_version_id, model, api_key_id, is_ok, credits, ended_at)
    select account_id, id, prompt_version_id, model, api_key_id, ok, credits, finished_at from finished
  )
  select coalesce(array_agg(f.account_id), '{}'), coalesce(array_agg(f.id), '{}'), coalesce(array_agg(f.credits), '{}')
    into v_account, v_id, v_credits from finished f;
  perform credit_settle(v_account, v_id, v_credits);
  with delivered as materialized (
    select s.place from unnest(v_account, v_id) d (account_id, run_id)
    cross join lateral (
      select s.ctid as place from run_steps s where s.account_id = d.account_id and s.run_id = d.run_id offset 0) s
  )
  delete from run_steps s using delivered d where s.ctid = d.place;
  perform webhook_runs_finished(v_account, v_id);
  return query select unnest(v_id);
end $$;

-- Finishes a batch of runs, fenced by (worker, attempt): a worker that lost its lease matches no row, so it can neither
-- overwrite the next attempt nor charge for it. Runs that are not returned were lost. A second call with the same
-- arrays changes nothing.
create or replace function run_finish(
  p_worker uuid, p_account uuid[], p_id uuid[], p_attempt int[], p_ok boolean[], p_credits bigint[],
  p_outputs json[], p_reason text[]
) returns setof uuid language plpgsql set lock_timeout = 200
  set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  v_ours int[];
begin
  select coalesce(array_agg(d.i), '{}') into v_ours
    from (
      select * from unnest(p_account, p_id, p_attempt) with ordinality d (account_id, id, attempt, i)
      order by account_id, id) d
    cross join lateral (
      select 1 from runs r where r.account_id = d.account_id and r.id = d.id and r.attempt = d.attempt
        and r.worker is not distinct from p_worker for update) r;
  return query
    select run_settle(array_agg(p_account[i]), array_agg(p_id[i]), array_agg(p_ok[i]), array_agg(p_credits[i]),
      array_agg(p_outputs[i]), array_agg(p_reason[i]))
    from unnest(v_ours) i having count(*) > 0;
end $$;
