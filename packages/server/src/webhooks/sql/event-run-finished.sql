-- Runs have ended: makes one delivery for each webhook of their accounts that wants run.finished. It is part of the
-- transaction that ends the runs, so no end is without its event. Waits for no lock. For an account without webhooks it
-- costs one index probe. A single plan serves every call, because planning a call with arrays costs more than
-- everything else (measured 2026-11-23: 290 us for one run).
create or replace function webhook_runs_finished(p_account uuid[], p_run uuid[]) returns void language plpgsql
  set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  v_account uuid; v_run uuid;
begin
  for v_account, v_run in
    select d.account_id, d.run_id from unnest(p_account, p_run) d (account_id, run_id)
    cross join lateral (
      select 1 from webhooks w where w.account_id = d.account_id and w.removed_at is null limit 1) w
  loop
    insert into webhook_deliveries (id, account_id, webhook_id, event, run_id)
      select promptd_new_id(), v_account, w.id, 'run.finished', v_run from webhooks w
      where w.account_id = v_account and w.removed_at is null and w.disabled_at is null
        and 'run.finished' = any (w.events);
  end loop;
end $$;
