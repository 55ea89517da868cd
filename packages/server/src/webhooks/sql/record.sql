-- What happened, as deliveries to the webhooks that want to know.

-- Runs have ended: one delivery for each of their account's webhooks that wants run.finished. Part of the transaction that
-- ends them, so no end is without its event. It waits for no lock. For an account without webhooks it is one index probe;
-- runs of one account stand beside each other. Statements with single values, since one with arrays is planned anew at
-- each call, which costs more than all the rest (measured 2026-11-23: 290 us for one run).
create or replace function webhook_runs_finished(p_account uuid[], p_run uuid[]) returns void language plpgsql as $$
declare
  v_account uuid; v_run uuid; v_before uuid; v_has boolean;
begin
  for i in 1 .. cardinality(p_run) loop
    v_account := p_account[i];
    v_run := p_run[i];
    if v_account is distinct from v_before then
      v_before := v_account;
      v_has := exists (select 1 from webhooks w where w.account_id = v_account and w.removed_at is null);
    end if;
    continue when not v_has;
    insert into webhook_deliveries (id, account_id, webhook_id, event, run_id)
      select promptd_new_id(), v_account, w.id, 'run.finished', v_run from webhooks w
      where w.account_id = v_account and w.removed_at is null and w.disabled_at is null
        and 'run.finished' = any (w.events);
  end loop;
end $$;

-- Compares the credits of accounts with their thresholds. An account that has fallen below its own gets one event, and
-- the next one when it has been above again, an hour later at the earliest: holds come and go with every run.
-- Returns how many events were made.
create or replace function webhook_credits_compared() returns int language plpgsql as $$
declare
  v_made int;
begin
  with compared as materialized (
    select a.account_id, credits_available(a.account_id) as available from webhook_alerts a
    where exists (select 1 from webhooks w where w.account_id = a.account_id and w.removed_at is null)
  ), changed as (
    update webhook_alerts a set is_low = c.available < a.below,
      noted_at = case when c.available < a.below then promptd_now() else a.noted_at end
    from compared c
    where a.account_id = c.account_id and a.is_low <> (c.available < a.below)
      and (a.is_low or a.noted_at is null or a.noted_at < promptd_now() - interval '1 hour')
    returning a.account_id, a.is_low, a.below, c.available
  )
  insert into webhook_deliveries (id, account_id, webhook_id, event, data)
  select promptd_new_id(), c.account_id, w.id, 'credits.low', json_build_object('available', c.available, 'below', c.below)
  from changed c join webhooks w on w.account_id = c.account_id
  where c.is_low and w.removed_at is null and w.disabled_at is null and 'credits.low' = any (w.events);
  get diagnostics v_made = row_count;
  return v_made;
end $$;

-- Events about subjects that each webhook hears of once. `p_data` by the account that it is for, and the subject's name.
-- Returns how many events were made.
create or replace function webhook_noticed(p_event text, p_account uuid[], p_subject text[], p_data json[]) returns int
language plpgsql as $$
declare
  v_made int;
begin
  with wanted as materialized (
    select w.account_id, w.id as webhook_id, d.subject, d.data
    from unnest(p_account, p_subject, p_data) d (account_id, subject, data)
    join webhooks w on w.account_id = d.account_id
    where w.removed_at is null and w.disabled_at is null and p_event = any (w.events)
  ), fresh as (
    insert into webhook_notices (webhook_id, subject) select distinct webhook_id, subject from wanted
    on conflict do nothing returning webhook_id, subject
  )
  insert into webhook_deliveries (id, account_id, webhook_id, event, data)
  select promptd_new_id(), x.account_id, x.webhook_id, p_event, x.data
  from wanted x join fresh f on f.webhook_id = x.webhook_id and f.subject = x.subject;
  get diagnostics v_made = row_count;
  return v_made;
end $$;
