-- Compares the credits of accounts with their thresholds. An account that has fallen below its threshold gets one
-- event, and the next one only after it has been above again, at least an hour later: holds come and go with every run.
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
