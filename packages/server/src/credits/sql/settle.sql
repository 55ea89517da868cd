-- How holds end. Lock order everywhere: runs, holds, balances; rows of several accounts in id order.

-- Captures or releases the open holds of finished runs, each once. p_credits is the price of each run. The rest of the
-- hold becomes available again, except the part backed by expired credits, which expires now. The rest also returns to
-- the budget of the run's key, for the month in which it was held. What the author of the prompt earns is booked
-- (author-earnings.sql). Only few runs have a budget, an author's share, or expired credits. Each has its own
-- statements, which other runs skip: starting one statement that does everything took most of the time of a single run.
-- All calls share one plan, and each row is found by its key, or by its ctid once it is locked (runs/sql/finish.sql).
create or replace function credit_settle(p_account uuid[], p_run uuid[], p_credits bigint[]) returns void language plpgsql
  set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  v_accounts uuid[]; v_now timestamptz; v_paid record; v_by_expired bigint; v_gone bigint; v_is_backed boolean;
  v record; -- the settled holds, column by column
begin
  perform 1 from (select * from unnest(p_account, p_run) d (account_id, run_id) order by account_id, run_id) d
    cross join lateral (
      select 1 from credit_holds h where h.account_id = d.account_id and h.run_id = d.run_id
        and num_nonnulls(h.captured) = 0 for update) h; -- the held ones
  v_accounts := array(select distinct account_id from unnest(p_account) account_id order by account_id);
  perform 1 from unnest(v_accounts) d (account_id)
    cross join lateral (select 1 from credit_accounts a where a.account_id = d.account_id for update) a;
  v_now := promptd_now();
  perform credit_expire(d.account_id) from unnest(v_accounts) d (account_id)
    cross join lateral (
      select 1 from credit_grants g
      where g.account_id = d.account_id and g.remaining > 0 and g.expires_at <= v_now limit 1) g;
  with held as materialized (
    select h.place, d.credits from unnest(p_account, p_run, p_credits) d (account_id, run_id, credits)
    cross join lateral (
      select h.ctid as place from credit_holds h
      where h.account_id = d.account_id and h.run_id = d.run_id and num_nonnulls(h.captured) = 0 limit 1) h
  ), settled as (
    update credit_holds h
      set state = case when d.credits > 0 then 'captured' else 'released' end, captured = least(d.credits, h.amount)
    from held d where h.ctid = d.place
    returning h.account_id, h.run_id, h.amount, h.captured, h.budget_id, h.budget_month, h.author_id, h.author_share
  )
  select array_agg(account_id) as account, array_agg(run_id) as run, array_agg(amount) as amount,
      array_agg(captured) as captured, array_agg(budget_id) as budget, array_agg(budget_month) as month,
      array_agg(author_id) as author, array_agg(author_share) as share,
      bool_or(budget_id is not null and amount > captured) as has_unused,
      bool_or(credit_earned(captured, author_share) > 0) as has_earned
    into v from settled;
  if v.account is null then return; end if;
  if v.has_unused then -- the accounts of these rows are locked, so their order does not matter
    with unused as materialized (
      select b.place, u.amount from (
        select account_id, budget_id, month, sum(amount - captured)::bigint as amount
        from unnest(v.account, v.budget, v.month, v.amount, v.captured) s (account_id, budget_id, month, amount, captured)
        where amount > captured group by account_id, budget_id, month) u
      cross join lateral (
        select b.ctid as place from credit_budgets b
        where b.account_id = u.account_id and b.budget_id = u.budget_id and b.month = u.month limit 1) b)
    update credit_budgets b set used = b.used - unused.amount from unused where b.ctid = unused.place;
  end if;
  if v.has_earned then
    insert into credit_earnings (account_id, run_id, author_id, hundredths)
      select account_id, run_id, author_id, credit_earned(captured, share)
      from unnest(v.account, v.run, v.author, v.captured, v.share) s (account_id, run_id, author_id, captured, share)
      where credit_earned(captured, share) > 0;
  end if;
  with running as (
    select s.account_id, s.run_id, s.amount, s.captured, a.posted - sum(s.captured) over w as posted_after, a.held - sum(s.amount) over w as held_after
    from unnest(v.account, v.run, v.amount, v.captured) s (account_id, run_id, amount, captured)
    cross join lateral (select a.posted, a.held from credit_accounts a where a.account_id = s.account_id limit 1) a
    window w as (partition by s.account_id order by s.run_id)
  )
  insert into credit_transfers (account_id, kind, debit, credit, amount, run_id, posted_after, held_after)
    select * from (
      select account_id, 'capture', 'user:held', 'system:revenue', captured, run_id, posted_after,
        held_after + (amount - captured) from running where captured > 0
      union all
      select account_id, 'release', 'user:held', 'user:available', amount - captured, run_id, posted_after, held_after
      from running where amount > captured
    ) rows (account_id, kind, debit, credit, amount, run_id, posted_after, held_after)
    order by account_id, run_id, kind; -- capture before release, so that the running balances are in journal order
  v_is_backed := exists (
    select 1 from unnest(v.account, v.run) s (account_id, run_id)
    cross join lateral (
      select 1 from credit_expired_backing b where b.account_id = s.account_id and b.run_id = s.run_id limit 1) b);
  for v_paid in
    with totals as materialized (
      select t.account_id, t.captured, t.amount, a.place from (
        select account_id, sum(captured)::bigint as captured, sum(amount)::bigint as amount
        from unnest(v.account, v.amount, v.captured) s (account_id, amount, captured)
        group by account_id) t
      cross join lateral (
        select a.ctid as place from credit_accounts a where a.account_id = t.account_id limit 1) a
    ), balances as (
      update credit_accounts a set posted = a.posted - t.captured, held = a.held - t.amount
      from totals t where a.ctid = t.place returning a.account_id, t.captured
    )
    select b.account_id, b.captured, g.grant_id is not null as has_grants
    from balances b
    left join lateral (
      select g.grant_id from credit_grants g where g.account_id = b.account_id and g.remaining > 0 limit 1) g on true
  loop
    v_by_expired := 0;
    v_gone := 0;
    if v_is_backed then
      with backed as materialized (
        select b.place, s.captured
        from unnest(v.account, v.run, v.captured) s (account_id, run_id, captured)
        cross join lateral (
          select b.ctid as place from credit_expired_backing b
          where b.account_id = s.account_id and b.run_id = s.run_id limit 1) b
        where s.account_id = v_paid.account_id
      ), backing as (
        delete from credit_expired_backing b using backed s where b.ctid = s.place
        returning b.amount, least(b.amount, s.captured) as paid
      )
      select coalesce(sum(paid), 0)::bigint, coalesce(sum(amount - paid), 0)::bigint into v_by_expired, v_gone from backing;
    end if;
    if v_paid.captured > v_by_expired and v_paid.has_grants then
      perform credit_grants_spend(v_paid.account_id, v_paid.captured - v_by_expired);
    end if;
    if v_gone > 0 then perform credit_write_off(v_paid.account_id, v_gone); end if;
  end loop;
end $$;

-- Takes the locks of credit_settle without waiting, for runs whose rows the caller has locked. Returns the runs that
-- can be settled now. For the others, another transaction has locked the hold or the balance, perhaps for long.
create or replace function credit_try_lock(p_account uuid[], p_run uuid[]) returns setof uuid language sql as $$
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
