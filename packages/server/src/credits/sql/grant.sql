-- Grants credits exactly once per account and idempotency key: it takes the lock, then looks up the key. 'repeated':
-- the key was already used for the same grant. 'conflict': it was used for another amount or expiry, which the used_
-- columns report.
create or replace function credit_grant(p_account uuid, p_amount bigint, p_idem text, p_actor text, p_expires timestamptz,
  out outcome text, out used_amount bigint, out used_expires timestamptz, out used_at timestamptz)
language plpgsql as $$
declare
  v_posted bigint; v_held bigint;
begin
  insert into credit_accounts (account_id) values (p_account) on conflict do nothing;
  perform 1 from credit_accounts where account_id = p_account for update;
  select amount, expires_at, at into used_amount, used_expires, used_at
    from credit_transfers where account_id = p_account and idem = p_idem;
  if found then
    outcome := case when used_amount = p_amount and used_expires is not distinct from p_expires
      then 'repeated' else 'conflict' end;
    return;
  end if;
  perform credit_expire(p_account);
  update credit_accounts set posted = posted + p_amount where account_id = p_account returning posted, held into v_posted, v_held;
  insert into credit_transfers
      (account_id, kind, debit, credit, amount, idem, actor, expires_at, posted_after, held_after)
    values
      (p_account, 'grant', 'system:issued', 'user:available', p_amount, p_idem, p_actor, p_expires, v_posted, v_held);
  if p_expires <= promptd_now() then
    perform credit_write_off(p_account, p_amount); -- it expired before any hold that is open now was made
  elsif p_expires is not null then
    insert into credit_grants (account_id, remaining, expires_at) values (p_account, p_amount, p_expires);
  end if;
  outcome := 'granted';
end $$;
