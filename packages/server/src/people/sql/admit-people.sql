-- Admission to the management API: session or token, person, account, role, and rate limit in one statement.

-- What a session's token admits to. p_account: the requested account; null: the personal one. No row: there is no such
-- session, or it has expired. account_id is null if the person is not a member of the requested account.
create or replace function admit_session(p_token text, p_account uuid, p_limit int)
returns table (
  person_id uuid, is_operator boolean, is_frozen boolean, token_id uuid, scopes text[], revoked_at timestamptz,
  is_expired boolean, account_id uuid, role text, pro_until timestamptz, pro boolean,
  admitted boolean, used int, wait_us bigint
) language sql as $$
  with known as materialized (
    select u.id as person_id, u.is_operator, u.frozen_at is not null as is_frozen,
      m.account_id, m.role, a.pro_until, a.pro_until > promptd_now() as pro
    from auth_sessions s join auth_users u on u.id = s.user_id
    left join lateral (
      select am.account_id, am.role from account_members am
      where am.person_id = u.id and (p_account is null or am.account_id = p_account)
      order by am.is_personal desc, am.created_at, am.account_id limit 1) m on true
    left join accounts a on a.id = m.account_id
    where s.token = p_token and s.expires_at > promptd_now()
  )
  select known.person_id, known.is_operator, known.is_frozen, null::uuid, null::text[], null::timestamptz,
    false, known.account_id, known.role, known.pro_until, known.pro, rate.admitted, rate.used, rate.wait_us
  from known cross join lateral rate_admit(known.person_id, p_limit) rate
$$;

-- What a management token admits to: the account it was made for, as long as its person is a member there. Its last use
-- is written at most once a minute.
create or replace function admit_token(p_hash bytea, p_limit int)
returns table (
  person_id uuid, is_operator boolean, is_frozen boolean, token_id uuid, scopes text[], revoked_at timestamptz,
  is_expired boolean, account_id uuid, role text, pro_until timestamptz, pro boolean,
  admitted boolean, used int, wait_us bigint
) language sql as $$
  with known as materialized (
    select u.id as person_id, u.is_operator, u.frozen_at is not null as is_frozen, t.id as token_id, t.scopes,
      t.revoked_at, t.expires_at <= promptd_now() as is_expired, m.account_id, m.role, a.pro_until, a.pro_until > promptd_now() as pro
    from management_tokens t join auth_users u on u.id = t.person_id
    left join account_members m on m.person_id = u.id and m.account_id = t.account_id
    left join accounts a on a.id = m.account_id
    where t.token_hash = p_hash
  ), noted as (
    update management_tokens t set last_used_at = promptd_now() from known
    where t.id = known.token_id and known.revoked_at is null and not known.is_expired
      and (t.last_used_at is null or t.last_used_at < promptd_now() - interval '1 minute')
  )
  select known.*, rate.admitted, rate.used, rate.wait_us
  from known cross join lateral rate_admit(known.token_id, p_limit) rate
$$;
