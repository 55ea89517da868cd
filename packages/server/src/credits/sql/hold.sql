-- What a hold takes: credits of the account, and of the budget of the key that asked.

-- What may still be held of a cap in a month. It may be negative: a cap can be lowered below what was used.
create or replace function credit_budget_left(p_account uuid, p_budget uuid, p_month date, p_cap bigint) returns bigint
language sql stable as $$
  select p_cap - coalesce((
    select used from credit_budgets where account_id = p_account and budget_id = p_budget and month = p_month), 0)
$$;

-- Sets p_amount aside for a run, inside the transaction that creates the run, and counts it in a budget if there is one.
-- p_author earns p_share percent of what the run will cost; null: nobody does. False: there are too few credits, those
-- that the account has earned itself included, or the account is frozen.
create or replace function credit_hold_for(p_account uuid, p_run uuid, p_amount bigint, p_budget uuid, p_month date,
  p_author uuid, p_share int) returns boolean language plpgsql as $$
declare
  v_posted bigint; v_held bigint;
begin
  perform credit_expire(p_account);
  loop
    -- this condition, under the row lock of the update, is the only test of the balance
    update credit_accounts a set held = a.held + p_amount
      where a.account_id = p_account and a.posted - a.held >= p_amount and a.frozen_at is null
      returning a.posted, a.held into v_posted, v_held;
    exit when found;
    if credit_collect(p_account) = 0 then return false; end if;
  end loop;
  insert into credit_holds (account_id, run_id, amount, budget_id, budget_month, author_id, author_share)
    values (p_account, p_run, p_amount, p_budget, p_month, p_author, p_share);
  if p_budget is not null then
    insert into credit_budgets as b (account_id, budget_id, month, used) values (p_account, p_budget, p_month, p_amount)
      on conflict (account_id, budget_id, month) do update set used = b.used + excluded.used;
  end if;
  insert into credit_transfers (account_id, kind, debit, credit, amount, run_id, posted_after, held_after)
    values (p_account, 'hold', 'user:available', 'user:held', p_amount, p_run, v_posted, v_held);
  return true;
end $$;
