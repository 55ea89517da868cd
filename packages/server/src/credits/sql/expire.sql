-- How grants expire. The parts come first, credit_expire last.

-- Takes p_amount from the grants of an account, earliest expiry first. The caller holds the account's row lock.
create or replace function credit_grants_spend(p_account uuid, p_amount bigint) returns void language sql as $$
  update credit_grants g set remaining = g.remaining - spent.amount
  from (
    select grant_id, greatest(0, least(remaining, p_amount - (sum(remaining) over w - remaining)))::bigint as amount
    from credit_grants where account_id = p_account and remaining > 0
    window w as (order by expires_at, grant_id)
  ) spent
  where g.grant_id = spent.grant_id and spent.amount > 0
$$;

-- Divides p_amount expired credits among the open holds in order of creation, which is the order of run ids. No hold is
-- backed by more than its amount. Returns how much the holds took. The caller holds the account's row lock.
create or replace function credit_back_holds(p_account uuid, p_amount bigint) returns bigint language sql as $$
  with backed as (
    select h.run_id, h.amount - coalesce(b.amount, 0) as room
    from credit_holds h left join credit_expired_backing b using (account_id, run_id)
    where h.account_id = p_account and h.state = 'held'
  ), divided as (
    select run_id, least(room, p_amount - (sum(room) over (order by run_id) - room))::bigint as amount from backed
  ), written as (
    insert into credit_expired_backing (account_id, run_id, amount)
      select p_account, run_id, amount from divided where amount > 0
      on conflict (account_id, run_id) do update set amount = credit_expired_backing.amount + excluded.amount
  )
  select coalesce(sum(amount), 0)::bigint from divided where amount > 0
$$;

-- Removes expired credits from the balance, with a row in the journal. The caller holds the account's row lock.
create or replace function credit_write_off(p_account uuid, p_amount bigint) returns void language sql as $$
  with balance as (
    update credit_accounts set posted = posted - p_amount where account_id = p_account returning posted, held
  )
  insert into credit_transfers (account_id, kind, debit, credit, amount, posted_after, held_after)
    select p_account, 'expire', 'user:available', 'system:expired', p_amount, posted, held from balance
$$;

-- Processes expired credits: they back the open holds as far as these have room, and the rest is written off. Every
-- change of a balance starts with this call, so the holds that are open now are the same as at the expiry. Idempotent.
-- Reads the time only after locking the account's row. Returns the credits written off.
create or replace function credit_expire(p_account uuid) returns bigint language plpgsql as $$
declare
  v_expired bigint; v_gone bigint;
begin
  perform 1 from credit_accounts where account_id = p_account for update;
  v_expired := credit_expired(p_account, promptd_now());
  if v_expired = 0 then return 0; end if;
  perform credit_grants_spend(p_account, v_expired); -- the earliest to expire are the expired ones
  v_gone := v_expired - credit_back_holds(p_account, v_expired);
  if v_gone > 0 then perform credit_write_off(p_account, v_gone); end if;
  return v_gone;
end $$;
