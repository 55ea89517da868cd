-- Balances. posted - held - what has expired, is not written off yet and that no hold keeps = what can be spent now.
create table credit_accounts (
  account_id uuid primary key,
  posted bigint not null default 0 check (posted >= 0),
  held bigint not null default 0 check (held >= 0),
  frozen_at timestamptz,
  check (held <= posted)
) with (fillfactor = 50);

-- What is left of each grant that expires: spent earliest expiry first, and 0 once its hour has been seen to. What a
-- hold keeps of it is in credit_expired_backing from then on; the rest of `posted` never expires.
create table credit_grants (
  grant_id bigint generated always as identity primary key,
  account_id uuid not null,
  remaining bigint not null check (remaining >= 0),
  expires_at timestamptz not null
);
create index credit_grants_open on credit_grants (account_id, expires_at, grant_id) where remaining > 0;
create index credit_grants_expiry on credit_grants (expires_at) where remaining > 0;

-- No foreign key to runs: key-share locks on a hot table make multixacts. The audit view finds drift.
create table credit_holds (
  account_id uuid not null,
  run_id uuid not null,
  amount bigint not null check (amount > 0),
  captured bigint check (captured between 0 and amount),
  state text not null default 'held' check (state in ('held', 'captured', 'released')),
  primary key (account_id, run_id),
  check (case state when 'held' then captured is null when 'captured' then captured > 0 else captured = 0 end)
);
create index credit_holds_open on credit_holds (account_id) where state = 'held';

-- How much of an open hold is of expired grants. What is left of a grant when it expires backs the holds that are open
-- at that moment, the earliest created first, and is gone beyond them. A run pays with what its hold kept before
-- anything else; what it does not pay expires as it ends, so no hold taken after the expiry is ever backed by it. Apart
-- from credit_holds since it is written under the lock of the balance, for which a settle waits with its holds locked.
create table credit_expired_backing (
  account_id uuid not null,
  run_id uuid not null,
  amount bigint not null check (amount > 0),
  primary key (account_id, run_id)
);

-- The journal. One row = one debit and one credit of one amount, so it balances by construction;
-- posted_after and held_after let each row be checked against the one before.
create table credit_transfers (
  id bigint generated always as identity primary key,
  account_id uuid not null,
  kind text not null check (kind in ('grant', 'hold', 'capture', 'release', 'expire', 'adjust')),
  debit text not null,
  credit text not null,
  amount bigint not null check (amount > 0),
  run_id uuid,
  idem text,
  actor text,
  -- of a grant, as it was given: credit_grants holds what is left, this says what a repeated key must ask for
  expires_at timestamptz,
  posted_after bigint not null,
  held_after bigint not null,
  at timestamptz not null default promptd_now(),
  check (debit <> credit),
  check ((kind in ('hold', 'capture', 'release')) = (run_id is not null))
);
create index credit_transfers_account on credit_transfers (account_id, id);
create unique index credit_transfers_run on credit_transfers (account_id, run_id, kind) where run_id is not null;
create unique index credit_transfers_idem on credit_transfers (account_id, idem) where idem is not null;

-- A trigger and not a `do instead nothing` rule: a rule would hide the bug that tried it.
create function journal_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'credit_transfers is append-only' using errcode = 'PD900';
end $$;
create trigger append_only before update or delete or truncate on credit_transfers
  for each statement execute function journal_is_append_only();

-- Credits whose hour has come and that nobody has seen to yet.
create function credit_expired(p_account uuid, p_at timestamptz) returns bigint language sql stable as $$
  select coalesce(sum(remaining), 0)::bigint from credit_grants
  where account_id = p_account and remaining > 0 and expires_at <= p_at
$$;

-- Takes p_amount off the grants of an account, earliest expiry first. The caller holds the account's row lock.
create function credit_grants_spend(p_account uuid, p_amount bigint) returns void language sql as $$
  update credit_grants g set remaining = g.remaining - spent.amount
  from (
    select grant_id, greatest(0, least(remaining, p_amount - (sum(remaining) over w - remaining)))::bigint as amount
    from credit_grants where account_id = p_account and remaining > 0
    window w as (order by expires_at, grant_id)
  ) spent
  where g.grant_id = spent.grant_id and spent.amount > 0
$$;

-- Divides p_amount expired credits among the open holds, whose run ids are in the order of their creation; none keeps
-- more than its amount. Returns how many are kept. The caller holds the account's row lock.
create function credit_back_holds(p_account uuid, p_amount bigint) returns bigint language sql as $$
  with backed as (
    select h.run_id, h.amount - coalesce(k.amount, 0) as room
    from credit_holds h left join credit_expired_backing k using (account_id, run_id)
    where h.account_id = p_account and h.state = 'held'
  ), divided as (
    select run_id, least(room, p_amount - (sum(room) over (order by run_id) - room))::bigint as amount from backed
  ), kept as (
    insert into credit_expired_backing (account_id, run_id, amount)
      select p_account, run_id, amount from divided where amount > 0
      on conflict (account_id, run_id) do update set amount = credit_expired_backing.amount + excluded.amount
  )
  select coalesce(sum(amount), 0)::bigint from divided where amount > 0
$$;

create function credit_write_off(p_account uuid, p_amount bigint) returns void language sql as $$
  with balance as (
    update credit_accounts set posted = posted - p_amount where account_id = p_account returning posted, held
  )
  insert into credit_transfers (account_id, kind, debit, credit, amount, posted_after, held_after)
    select p_account, 'expire', 'user:available', 'system:expired', p_amount, posted, held from balance
$$;

-- Sees to what has expired: the open holds keep what they can of it, the rest is written off. Every change of a balance
-- begins with this, so the open holds are those that were open at the expiry. Idempotent; locks the account's row, and
-- reads the time only then. Returns the credits written off.
create function credit_expire(p_account uuid) returns bigint language plpgsql as $$
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

-- Exactly once per (account, idempotency key): the lock decides, then the look-up. 'repeated': that key was used before
-- for the same; 'conflict': for another amount or expiry, which the used_ columns tell.
create function credit_grant(p_account uuid, p_amount bigint, p_idem text, p_actor text, p_expires timestamptz,
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
    perform credit_write_off(p_account, p_amount); -- no hold that is open now was open at its expiry
  elsif p_expires is not null then
    insert into credit_grants (account_id, remaining, expires_at) values (p_account, p_amount, p_expires);
  end if;
  outcome := 'granted';
end $$;

-- Sets p_amount aside for a run inside the transaction that creates it. False: too few credits, or the account is frozen.
create function credit_hold(p_account uuid, p_run uuid, p_amount bigint) returns boolean language plpgsql as $$
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

-- Captures or releases the open holds of finished runs, each once. p_credits is what each run costs; the part of the
-- hold above it goes back, or expires where the hold kept it past its expiry. Lock order everywhere: runs, holds,
-- balances; several accounts in id order.
create function credit_settle(p_account uuid[], p_run uuid[], p_credits bigint[]) returns void language plpgsql as $$
declare
  v_now timestamptz; v_paid record;
begin
  perform 1 from credit_holds h join unnest(p_account, p_run) d (account_id, run_id) using (account_id, run_id)
    where h.state = 'held' order by h.account_id, h.run_id for update of h;
  perform 1 from credit_accounts where account_id in (select unnest(p_account)) order by account_id for update;
  v_now := promptd_now();
  perform credit_expire(account_id) from (
    select distinct account_id from credit_grants
    where account_id = any (p_account) and remaining > 0 and expires_at <= v_now) due;
  for v_paid in
    with settled as (
      update credit_holds h
        set state = case when d.credits > 0 then 'captured' else 'released' end, captured = least(d.credits, h.amount)
      from unnest(p_account, p_run, p_credits) d (account_id, run_id, credits)
      where h.account_id = d.account_id and h.run_id = d.run_id and h.state = 'held'
      returning h.account_id, h.run_id, h.amount, h.captured
    ), running as (
      select s.*, a.posted - sum(s.captured) over w as posted_after, a.held - sum(s.amount) over w as held_after
      from settled s join credit_accounts a using (account_id)
      window w as (partition by s.account_id order by s.run_id)
    ), journal as (
      insert into credit_transfers (account_id, kind, debit, credit, amount, run_id, posted_after, held_after)
      select * from (
        select account_id, 'capture', 'user:held', 'system:revenue', captured, run_id, posted_after,
          held_after + (amount - captured) from running where captured > 0
        union all
        select account_id, 'release', 'user:held', 'user:available', amount - captured, run_id, posted_after, held_after
        from running where amount > captured
      ) rows (account_id, kind, debit, credit, amount, run_id, posted_after, held_after)
      order by account_id, run_id, kind -- capture before release, so that the running balances are in journal order
    ), totals as (
      select account_id, sum(captured)::bigint as captured, sum(amount)::bigint as amount from settled group by account_id
    ), balances as (
      update credit_accounts a set posted = a.posted - t.captured, held = a.held - t.amount
      from totals t where a.account_id = t.account_id returning a.account_id, t.captured
    ), kept as (
      delete from credit_expired_backing k using settled s where k.account_id = s.account_id and k.run_id = s.run_id
      returning k.account_id, k.amount, least(k.amount, s.captured) as paid
    ), expired as (
      select account_id, sum(paid)::bigint as paid, sum(amount - paid)::bigint as gone from kept group by account_id
    )
    select account_id, b.captured - coalesce(e.paid, 0) as by_grants, coalesce(e.gone, 0) as gone
    from balances b left join expired e using (account_id)
  loop
    if v_paid.by_grants > 0 then perform credit_grants_spend(v_paid.account_id, v_paid.by_grants); end if;
    if v_paid.gone > 0 then perform credit_write_off(v_paid.account_id, v_paid.gone); end if;
  end loop;
end $$;

-- Takes the locks of credit_settle for runs whose rows the caller has locked, and waits for nobody. Returns the runs that
-- can be settled now; the hold or the balance of the others is with a transaction that may stay open for long.
create function credit_try_lock(p_account uuid[], p_run uuid[]) returns setof uuid language sql as $$
  with due as materialized (
    select * from unnest(p_account, p_run) d (account_id, run_id)
  ), held as materialized (
    select h.account_id, h.run_id from credit_holds h join due using (account_id, run_id)
    where h.state = 'held' for update of h skip locked
  ), balance as materialized (
    select a.account_id from credit_accounts a where a.account_id = any (p_account) for update skip locked
  )
  select d.run_id from due d
  where not exists (
      select 1 from credit_holds h where h.account_id = d.account_id and h.run_id = d.run_id and h.state = 'held'
        and not exists (select 1 from held where held.account_id = d.account_id and held.run_id = d.run_id))
    and not exists (
      select 1 from credit_accounts a where a.account_id = d.account_id
        and not exists (select 1 from balance where balance.account_id = d.account_id))
$$;

-- What can be spent now: whatever expired since somebody last saw to it fills the room of the open holds first.
create function credits_available(p_account uuid) returns bigint language sql stable as $$
  select coalesce((
    select a.posted - a.held - greatest(0, credit_expired(p_account, promptd_now()) - (a.held - k.amount))
    from credit_accounts a,
      (select coalesce(sum(amount), 0)::bigint as amount from credit_expired_backing where account_id = p_account) k
    where a.account_id = p_account), 0)
$$;
