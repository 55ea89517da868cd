-- The end of runs.

-- Makes runs final, settles their holds, counts them as used and reports them to webhooks. Internal: the caller has locked and fenced these rows, in id order.
create or replace function run_settle(
  p_account uuid[], p_id uuid[], p_ok boolean[], p_credits bigint[], p_outputs json[], p_reason text[]
) returns setof uuid language plpgsql as $$
declare
  v_account uuid[]; v_id uuid[]; v_credits bigint[];
begin
  with finished as (
    update runs r set status = case when d.ok then 'succeeded' else 'failed' end, worker = null,
      finished_at = promptd_now(), outputs = d.outputs, fail_reason = d.reason,
      credits = case when r.hold is null then null when d.ok then least(greatest(d.credits, 0), r.hold) else 0 end
    from unnest(p_account, p_id, p_ok, p_credits, p_outputs, p_reason) d (account_id, id, ok, credits, outputs, reason)
    where r.account_id = d.account_id and r.id = d.id and r.finished_at is null
    returning r.account_id, r.id, coalesce(r.credits, 0) as credits, r.prompt_version_id, r.model, r.api_key_id,
      d.ok, r.finished_at
  ), used as (
    insert into usage_events (account_id, run_id, prompt_version_id, model, api_key_id, is_ok, credits, ended_at)
    select account_id, id, prompt_version_id, model, api_key_id, ok, credits, finished_at from finished
  )
  select coalesce(array_agg(f.account_id), '{}'), coalesce(array_agg(f.id), '{}'), coalesce(array_agg(f.credits), '{}')
    into v_account, v_id, v_credits from finished f;
  perform credit_settle(v_account, v_id, v_credits);
  delete from run_steps s using unnest(v_account, v_id) d (account_id, run_id)
    where s.account_id = d.account_id and s.run_id = d.run_id;
  perform webhook_runs_finished(v_account, v_id);
  return query select unnest(v_id);
end $$;

-- Finishes a batch. The fence is (worker, attempt): a worker that lost its lease matches no row, so it can neither
-- overwrite the next attempt nor charge for it. Runs that are not returned were lost. A second call with the same arrays
-- changes nothing.
create or replace function run_finish(
  p_worker uuid, p_account uuid[], p_id uuid[], p_attempt int[], p_ok boolean[], p_credits bigint[],
  p_outputs json[], p_reason text[]
) returns setof uuid language plpgsql set lock_timeout = 200 as $$
declare
  v_ours int[];
begin
  select coalesce(array_agg(locked.i), '{}') into v_ours from (
    select d.i from unnest(p_account, p_id, p_attempt) with ordinality d (account_id, id, attempt, i)
    join runs r on r.account_id = d.account_id and r.id = d.id
    where r.worker = p_worker and r.attempt = d.attempt
    order by r.account_id, r.id for update of r) locked;
  return query
    select run_settle(array_agg(p_account[i]), array_agg(p_id[i]), array_agg(p_ok[i]), array_agg(p_credits[i]),
      array_agg(p_outputs[i]), array_agg(p_reason[i]))
    from unnest(v_ours) i having count(*) > 0;
end $$;
