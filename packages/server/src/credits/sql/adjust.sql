-- Sets the budgets of an account to what its holds say, and removes budgets that no hold explains. Returns true if some
-- were wrong. The caller holds the account's row lock.
create or replace function credit_budgets_repair(p_account uuid) returns boolean language plpgsql as $$
declare
  v_had_strays boolean;
begin
  delete from credit_budgets b where b.account_id = p_account and b.used <> 0 and not exists (
    select from credit_holds h
    where h.account_id = p_account and h.budget_id = b.budget_id and h.budget_month = b.month);
  v_had_strays := found;
  insert into credit_budgets as b (account_id, budget_id, month, used)
    select p_account, h.budget_id, h.budget_month, sum(coalesce(h.captured, h.amount)) from credit_holds h
    where h.account_id = p_account and h.budget_id is not null group by h.budget_id, h.budget_month
    on conflict (account_id, budget_id, month) do update set used = excluded.used where b.used <> excluded.used;
  return found or v_had_strays;
end $$;

-- Corrects what an account has, with a row in the journal. It starts from the journal and the open holds, not from the
-- balance, so it also repairs budgets and a balance that they do not explain; p_amount = 0 does only that. Outcomes:
-- adjusted; nothing (p_amount is 0, and everything matches the journal and the holds); too_low (less would be left than
-- is held: `available` is what may be taken away, and the caller rolls back).
create or replace function credit_adjust(p_account uuid, p_amount bigint, p_actor text,
  out outcome text, out available bigint)
language plpgsql as $$
declare
  v_posted bigint; v_held bigint; v_is_sound boolean;
begin
  insert into credit_accounts (account_id) values (p_account) on conflict do nothing;
  perform 1 from credit_accounts where account_id = p_account for update;
  select coalesce(sum(case when t.credit like 'user:%' then t.amount else 0 end), 0)
      - coalesce(sum(case when t.debit like 'user:%' then t.amount else 0 end), 0)
    into v_posted from credit_transfers t where t.account_id = p_account;
  select coalesce(sum(h.amount), 0) into v_held from credit_holds h where h.account_id = p_account and h.state = 'held';
  select a.posted = v_posted and a.held = v_held into v_is_sound from credit_accounts a where a.account_id = p_account;
  v_is_sound := not credit_budgets_repair(p_account) and v_is_sound;
  v_posted := v_posted + greatest(p_amount, 0);
  available := v_posted - v_held;
  outcome := case when available < 0 then 'too_low' when p_amount = 0 and v_is_sound then 'nothing' end;
  if outcome is not null then return; end if;
  update credit_accounts a set posted = v_posted, held = v_held where a.account_id = p_account;
  if p_amount >= 0 then
    insert into credit_transfers (account_id, kind, debit, credit, amount, actor, posted_after, held_after)
      values (p_account, 'adjust', 'system:adjusted', 'user:available', p_amount, p_actor, v_posted, v_held);
  end if;
  perform credit_expire(p_account);
  if p_amount < 0 then
    while credit_collect(p_account) > 0 loop end loop;
    select a.posted - a.held into available from credit_accounts a where a.account_id = p_account;
    outcome := case when available + p_amount < 0 then 'too_low' end;
    if outcome is not null then return; end if;
    available := available + p_amount;
    perform credit_grants_spend(p_account, -p_amount);
    insert into credit_transfers (account_id, kind, debit, credit, amount, actor, posted_after, held_after)
      values (p_account, 'adjust', 'user:available', 'system:adjusted', -p_amount, p_actor, v_held + available, v_held);
    update credit_accounts a set posted = v_held + available where a.account_id = p_account;
  end if;
  outcome := 'adjusted';
end $$;
