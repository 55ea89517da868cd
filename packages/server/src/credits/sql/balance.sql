-- What an account can spend.

-- Returns the credits that have expired by p_at and that credit_expire has not processed yet.
create or replace function credit_expired(p_account uuid, p_at timestamptz) returns bigint language sql stable as $$
  select coalesce(sum(remaining), 0)::bigint from credit_grants
  where account_id = p_account and remaining > 0 and expires_at <= p_at
$$;

-- Returns what can be spent now, including what was earned but is not collected yet. Credits that have expired but are
-- not processed yet back the open holds first; only the part that the holds have no room for reduces the balance.
create or replace function credits_available(p_account uuid) returns bigint language sql stable as $$
  select coalesce((
    select a.posted - a.held - greatest(0, credit_expired(p_account, promptd_now()) - (a.held - b.amount))
    from credit_accounts a,
      (select coalesce(sum(amount), 0)::bigint as amount from credit_expired_backing where account_id = p_account) b
    where a.account_id = p_account), 0) + credit_uncollected(p_account)
$$;
