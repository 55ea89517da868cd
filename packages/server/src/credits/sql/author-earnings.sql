-- What authors earn. A capture books it (settle.sql) in hundredths of a credit; collecting turns it into credits.

-- Returns what the author of a prompt earns from a capture, in hundredths of a credit.
create or replace function credit_earned(p_captured bigint, p_share int) returns bigint language sql immutable as $$
  select p_captured * p_share
$$;

-- Returns the whole credits that are booked for an account but not collected yet.
create or replace function credit_uncollected(p_account uuid) returns bigint language sql stable as $$
  select floor((
    coalesce((select sum(e.hundredths) from credit_earnings e where e.author_id = p_account and e.collected_at is null), 0)
      + coalesce((select a.earned_rest from credit_accounts a where a.account_id = p_account), 0)) / 100)::bigint
$$;

-- Collects what is booked for an account, with a row in the journal. It collects at most 10,000 bookings, because a
-- statement has a time limit. A remainder of less than a credit stays for the next time. Returns how many bookings were
-- collected; call it again until that is 0. A booking that commits meanwhile is left for the next call.
create or replace function credit_collect(p_account uuid) returns int language plpgsql as $$
declare
  v_hundredths bigint; v_bookings int; v_credits bigint; v_posted bigint; v_held bigint;
begin
  if not exists (select 1 from credit_earnings where author_id = p_account and collected_at is null) then return 0; end if;
  insert into credit_accounts (account_id) values (p_account) on conflict do nothing;
  perform credit_expire(p_account); -- it locks the account's row
  with collected as (
    update credit_earnings set collected_at = promptd_now()
    where (account_id, run_id) in (
      select account_id, run_id from credit_earnings where author_id = p_account and collected_at is null limit 10000)
    returning hundredths
  )
  select coalesce(sum(hundredths), 0), count(*) into v_hundredths, v_bookings from collected;
  select (earned_rest + v_hundredths) / 100 into v_credits from credit_accounts where account_id = p_account;
  update credit_accounts set posted = posted + v_credits, earned_rest = earned_rest + v_hundredths - 100 * v_credits
    where account_id = p_account returning posted, held into v_posted, v_held;
  if v_credits > 0 then
    insert into credit_transfers (account_id, kind, debit, credit, amount, posted_after, held_after)
      values (p_account, 'earn', 'system:revenue', 'user:available', v_credits, v_posted, v_held);
  end if;
  return v_bookings;
end $$;
