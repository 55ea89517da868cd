-- What a hold takes: credits from the account and from the budget of the key that made the request.

-- Returns how much of a cap can still be held in a month. It is negative if the cap was lowered below what was used.
create or replace function credit_budget_left(p_account uuid, p_budget uuid, p_month date, p_cap bigint) returns bigint
language sql stable as $$
  select p_cap - coalesce((
    select used from credit_budgets where account_id = p_account and budget_id = p_budget and month = p_month), 0)
$$;

-- Records the holds that were set aside in this transaction, with the balance after each, in the given order. A hold
-- counts toward its budget of p_month, if it has one; its author earns p_share percent of what the run will cost.
create or replace function credit_holds_record(p_account uuid[], p_run uuid[], p_amount bigint[], p_budget uuid[],
  p_month date, p_author uuid[], p_share int[], p_posted_after bigint[], p_held_after bigint[]
) returns void language plpgsql as $$
begin
  insert into credit_holds (account_id, run_id, amount, budget_id, budget_month, author_id, author_share)
    select account, run, amount, budget, case when budget is not null then p_month end, author, share
    from unnest(p_account, p_run, p_amount, p_budget, p_author, p_share) d (account, run, amount, budget, author, share);
  insert into credit_budgets as b (account_id, budget_id, month, used)
    select account, budget, p_month, sum(amount)::bigint from unnest(p_account, p_budget, p_amount) d (account, budget, amount)
    where budget is not null group by account, budget order by account, budget
    on conflict (account_id, budget_id, month) do update set used = b.used + excluded.used;
  insert into credit_transfers (account_id, kind, debit, credit, amount, run_id, posted_after, held_after)
    select account, 'hold', 'user:available', 'user:held', amount, run, posted_after, held_after
    from unnest(p_account, p_run, p_amount, p_posted_after, p_held_after) with ordinality
      d (account, run, amount, posted_after, held_after, nth)
    order by nth; -- the order of the journal
end $$;

-- Sets credits aside for runs whose balances the caller has locked and found to be enough, with nothing that has expired:
-- p_held_after is what is held after each. Otherwise like credit_hold_for.
create or replace function credit_hold_locked(p_account uuid[], p_run uuid[], p_amount bigint[], p_budget uuid[],
  p_month date, p_author uuid[], p_share int[], p_posted_after bigint[], p_held_after bigint[]
) returns void language plpgsql as $$
begin
  with totals as materialized (
    select a.place, t.amount
    from (select account, sum(amount)::bigint as amount from unnest(p_account, p_amount) d (account, amount) group by account) t
    cross join lateral (select a.ctid as place from credit_accounts a where a.account_id = t.account limit 1) a
  )
  update credit_accounts a set held = a.held + t.amount from totals t where a.ctid = t.place;
  perform credit_holds_record(p_account, p_run, p_amount, p_budget, p_month, p_author, p_share, p_posted_after, p_held_after);
end $$;

-- Sets p_amount aside for a run, in the transaction that creates the run, and counts it toward a budget if there is
-- one. p_author earns p_share percent of what the run will cost; null: nobody earns. Returns false if the account is
-- frozen or has too few credits, even with what it has earned itself.
create or replace function credit_hold_for(p_account uuid, p_run uuid, p_amount bigint, p_budget uuid, p_month date,
  p_author uuid, p_share int) returns boolean language plpgsql as $$
declare
  v_posted bigint; v_held bigint;
  v_is_collected boolean := false;
begin
  perform credit_expire(p_account);
  loop
    -- this condition, under the row lock of the update, is the only test of the balance
    update credit_accounts a set held = a.held + p_amount
      where a.account_id = p_account and a.posted - a.held >= p_amount and a.frozen_at is null
      returning a.posted, a.held into v_posted, v_held;
    exit when found;
    if v_is_collected then return false; end if;
    v_is_collected := credit_collect(p_account) = 0; -- also by another transaction, after the update above
  end loop;
  perform credit_holds_record(array[p_account], array[p_run], array[p_amount], array[p_budget], p_month, array[p_author],
    array[p_share], array[v_posted], array[v_held]);
  return true;
end $$;
