-- Makes events about subjects that each webhook receives only once. `p_data` by the receiving account and the subject's
-- name. Returns how many events were made.
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
