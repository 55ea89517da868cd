-- Batches: gives their items runs, and counts the ends of those runs.

-- Assigns an item to the run that the same transaction creates. Raises PD410 if the item has another run or has ended,
-- or if its batch was canceled: the run is then undone too. The key-share lock conflicts with the cancel of a batch,
-- which locks it for update: the cancel sees every item started before it, and no item is started after it.
create or replace function batch_item_start(p_account uuid, p_batch uuid, p_item int, p_run uuid)
returns void language plpgsql as $$
declare
  v_status text;
begin
  select status into v_status from batches where account_id = p_account and id = p_batch for key share;
  if v_status in ('running', 'paused') then
    update batch_items set run_id = p_run, inputs = null
      where batch_id = p_batch and item = p_item and ended_at is null and (run_id is null or run_id = p_run);
    if found then
      return;
    end if;
  end if;
  raise exception 'the item is not to be started' using errcode = 'PD410';
end $$;

-- Ends an item that cannot have a run. True unless it has one, or has ended.
create or replace function batch_item_refuse(p_account uuid, p_batch uuid, p_item int, p_error text)
returns boolean language plpgsql as $$
begin
  perform 1 from batches where account_id = p_account and id = p_batch for no key update;
  update batch_items set ended_at = promptd_now(), error = p_error, inputs = null
    where batch_id = p_batch and item = p_item and run_id is null and ended_at is null;
  if not found then
    return false;
  end if;
  update batches set failed = failed + 1 where account_id = p_account and id = p_batch;
  return true;
end $$;

-- Counts the items of a batch whose runs have ended, and finishes the batch when none of its items is open any longer.
-- Takes the lock first, so that two processes never count an item twice.
create or replace function batch_collect(p_account uuid, p_batch uuid) returns void language plpgsql as $$
begin
  perform 1 from batches where account_id = p_account and id = p_batch for no key update;
  with ended as (
    update batch_items i set ended_at = r.finished_at from runs r
    where i.batch_id = p_batch and i.run_id is not null and i.ended_at is null
      and r.account_id = p_account and r.id = i.run_id and r.finished_at is not null
    returning r.status, r.fail_reason, coalesce(r.credits, 0) as credits
  ), sums as (
    select count(*) filter (where status = 'succeeded') as succeeded,
      count(*) filter (where status = 'failed' and fail_reason = 'canceled') as canceled,
      count(*) filter (where status = 'failed' and fail_reason is distinct from 'canceled') as failed,
      coalesce(sum(credits), 0) as credits, count(*) as n
    from ended
  )
  update batches b set succeeded = b.succeeded + s.succeeded, failed = b.failed + s.failed,
      canceled = b.canceled + s.canceled, credits = b.credits + s.credits
    from sums s where b.account_id = p_account and b.id = p_batch and s.n > 0;
  update batches b set finished_at = promptd_now(), pause_reason = null, pause_message = null, paused_at = null,
      retry_at = null, status = case when status = 'canceled' then status else 'finished' end
    where b.account_id = p_account and b.id = p_batch and b.finished_at is null
      and (b.succeeded + b.failed + b.canceled = b.total or b.status = 'canceled' and not exists (
        select 1 from batch_items i where i.batch_id = b.id and i.run_id is not null and i.ended_at is null));
  if found then -- items of a canceled batch that never started are removed
    update batch_items set inputs = null
      where batch_id = p_batch and run_id is null and ended_at is null and inputs is not null;
  end if;
end $$;
