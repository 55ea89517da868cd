-- Sets p_amount aside for a run, inside the transaction that creates the run. False: there are too few credits, or the
-- account is frozen.
create or replace function credit_hold(p_account uuid, p_run uuid, p_amount bigint) returns boolean language plpgsql as $$
declare
  v_posted bigint; v_held bigint;
begin
  perform credit_expire(p_account);
  -- this condition, under the row lock of the update, is the only test of the balance
  update credit_accounts a set held = a.held + p_amount
    where a.account_id = p_account and a.posted - a.held >= p_amount and a.frozen_at is null
    returning a.posted, a.held into v_posted, v_held;
  if not found then return false; end if;
  insert into credit_holds (account_id, run_id, amount) values (p_account, p_run, p_amount);
  insert into credit_transfers (account_id, kind, debit, credit, amount, run_id, posted_after, held_after)
    values (p_account, 'hold', 'user:available', 'user:held', p_amount, p_run, v_posted, v_held);
  return true;
end $$;
