-- The outcomes of attempts.

-- Writes the outcome of an attempt, fenced by the attempt's number: an attempt that was overtaken by another one
-- changes nothing. p_state 'pending': it is retried after p_retry. p_is_failing: the receiver caused the failure, and
-- its webhook is disabled after p_give_up without a success, or at once if p_gone gives a reason. Outcomes: lost,
-- settled, disabled.
create or replace function webhook_settle(
  p_id uuid, p_attempt int, p_state text, p_status int, p_fault text, p_ms int, p_retry interval,
  p_is_failing boolean, p_gone text, p_give_up interval, p_give_up_reason text
) returns text language plpgsql as $$
declare
  v_webhook uuid;
  v_now timestamptz := promptd_now();
begin
  update webhook_deliveries set state = p_state, due_at = v_now + p_retry, is_sending = false, status_code = p_status,
    fault = p_fault, duration_ms = p_ms
    where id = p_id and attempts = p_attempt and state = 'pending' and is_sending returning webhook_id into v_webhook;
  if not found then return 'lost'; end if;
  if p_state = 'delivered' then -- usually there is nothing to write, and the row is not locked
    update webhooks set failing_since = null where id = v_webhook and failing_since is not null;
    return 'settled';
  end if;
  if not p_is_failing then return 'settled'; end if;
  update webhooks set failing_since = v_now where id = v_webhook and failing_since is null;
  update webhooks set disabled_at = v_now, disabled_reason = coalesce(p_gone, p_give_up_reason)
    where id = v_webhook and disabled_at is null and (p_gone is not null or failing_since <= v_now - p_give_up);
  return case when found then 'disabled' else 'settled' end;
end $$;

-- Gives up pending deliveries of disabled webhooks, p_batch at a time. Returns how many were given up.
create or replace function webhook_give_up(p_batch int, p_fault text) returns int language sql as $$
  with given_up as (
    update webhook_deliveries d set state = 'failed', is_sending = false, fault = coalesce(d.fault, p_fault)
    where d.id in (
      select x.id from webhooks w join webhook_deliveries x on x.account_id = w.account_id and x.webhook_id = w.id
      where w.disabled_at is not null and w.removed_at is null and x.state = 'pending'
        and (not x.is_sending or x.due_at <= promptd_now()) -- the process of an attempt was killed: its lease has passed
      limit p_batch for update of x skip locked)
    returning 1
  )
  select count(*)::int from given_up
$$;

-- Deletes deliveries older than p_before (the first id of a moment), removed webhooks with all their data, and secrets
-- that no longer sign, p_batch rows at a time. Returns how many deliveries were deleted.
create or replace function webhook_prune(p_before uuid, p_batch int) returns int language plpgsql as $$
declare
  v_deleted int;
begin
  delete from webhook_deliveries where id in (
    (select id from webhook_deliveries where id < p_before order by id limit p_batch)
    union
    (select d.id from webhooks w join webhook_deliveries d on d.webhook_id = w.id where w.removed_at is not null
      limit p_batch));
  get diagnostics v_deleted = row_count;
  update webhooks set previous_secret = null, previous_secret_until = null where previous_secret_until <= promptd_now();
  delete from webhook_notices n using webhooks w where w.id = n.webhook_id and w.removed_at is not null;
  delete from webhooks w where w.removed_at is not null
    and not exists (select 1 from webhook_deliveries d where d.webhook_id = w.id);
  return v_deleted;
end $$;
