-- Usage, from the ends of runs to one row per day.

-- Ended runs with their usage. Tokens and cost include every provider call, even calls that failed.
create or replace view usage_of_events as
  select e.id, (e.ended_at at time zone 'UTC')::date as day, e.account_id, e.api_key_id, v.prompt_id, e.model,
    1::bigint as runs, (not e.is_ok)::int::bigint as failed, e.credits, calls.input_tokens, calls.output_tokens,
    calls.cost_micro, coalesce(b.hundredths, 0) as earned_hundredths
  from usage_events e
  left join prompt_versions v on v.id = e.prompt_version_id
  left join credit_earnings b on b.account_id = e.account_id and b.run_id = e.run_id
  cross join lateral (
    select coalesce(sum((c.usage ->> 'inputTokens')::bigint), 0)::bigint as input_tokens,
      coalesce(sum((c.usage ->> 'outputTokens')::bigint), 0)::bigint as output_tokens,
      coalesce(sum(c.cost_micro), 0)::bigint as cost_micro
    from provider_calls c where c.run_id = e.run_id) calls;

-- All usage: rolled up, and not yet rolled up. A statement sees each run in only one of the two.
create or replace view usage_of_all as
  select day, account_id, api_key_id, prompt_id, model, runs, failed, credits, input_tokens, output_tokens, cost_micro,
    earned_hundredths from usage_days
  union all
  select day, account_id, api_key_id, prompt_id, model, runs, failed, credits, input_tokens, output_tokens, cost_micro,
    earned_hundredths from usage_of_events;

-- The same by published version, for authors: rolled up, and not yet. Test runs, whose versions have no number, are
-- left out. A run is excused, and did not fail, if its caller ended it, by canceling it or by what they sent, or if the
-- model declined their request: that says nothing about the prompt.
create or replace view version_use_of_events as
  select e.id, v.prompt_id, (e.ended_at at time zone 'UTC')::date as day, e.prompt_version_id, 1::bigint as runs,
    (not e.is_ok and not r.is_excused)::int::bigint as failed, e.credits, r.is_excused::int::bigint as excused
  from usage_events e join prompt_versions v on v.id = e.prompt_version_id
  cross join lateral (
    select not e.is_ok and exists (select from runs r where r.account_id = e.account_id and r.id = e.run_id
      and r.fail_reason in ('canceled', 'image_unusable', 'too_long', 'refused')) as is_excused) r
  where v.published_at is not null;

create or replace view version_use_of_all as
  select prompt_id, day, prompt_version_id, runs, failed, credits, excused from version_days
  union all
  select prompt_id, day, prompt_version_id, runs, failed, credits, excused from version_use_of_events;

-- Moves the oldest p_batch events that ended at least p_settle ago into daily rows, in one transaction: each run counts
-- once, whatever dies when. Provider calls may end slightly after their run, so events settle first. Returns how many
-- were moved.
create or replace function usage_roll_up(p_batch int, p_settle interval) returns int language plpgsql as $$
declare
  v_before timestamptz := promptd_now() - p_settle;
  v_ids bigint[];
begin
  select coalesce(array_agg(due.id), '{}') into v_ids from (
    select id from usage_events where ended_at <= v_before order by id limit p_batch for update skip locked) due;
  insert into usage_days as d
    select day, account_id, api_key_id, prompt_id, model, sum(runs), sum(failed), sum(credits), sum(input_tokens),
      sum(output_tokens), sum(cost_micro), sum(earned_hundredths)
    from usage_of_events where id = any (v_ids)
    group by account_id, day, api_key_id, prompt_id, model order by account_id, day, api_key_id, prompt_id, model
    on conflict (account_id, day, api_key_id, prompt_id, model) do update set
      runs = d.runs + excluded.runs, failed = d.failed + excluded.failed, credits = d.credits + excluded.credits,
      input_tokens = d.input_tokens + excluded.input_tokens, output_tokens = d.output_tokens + excluded.output_tokens,
      cost_micro = d.cost_micro + excluded.cost_micro,
      earned_hundredths = d.earned_hundredths + excluded.earned_hundredths;
  insert into version_days as d
    (prompt_id, day, prompt_version_id, runs, failed, credits, excused)
    select prompt_id, day, prompt_version_id, sum(runs), sum(failed), sum(credits), sum(excused)
    from version_use_of_events where id = any (v_ids)
    group by prompt_id, day, prompt_version_id order by prompt_id, day, prompt_version_id
    on conflict (prompt_id, day, prompt_version_id) do update set
      runs = d.runs + excluded.runs, failed = d.failed + excluded.failed, credits = d.credits + excluded.credits,
      excused = d.excused + excluded.excused;
  delete from usage_events where id = any (v_ids);
  return cardinality(v_ids);
end $$;
