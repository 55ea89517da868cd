-- The ledger audit. Every row is a fault: a balance that its journal, holds, or runs do not explain.
create or replace view credit_audit as
  select 'balance' as fault, a.account_id, null::uuid as run_id,
    format('posted %s, held %s; journal says available %s, held %s; open holds %s', a.posted, a.held, j.available, j.held, h.open)
      as detail
  from credit_accounts a
  cross join lateral (
    select coalesce(sum(case 'user:available' when t.credit then t.amount when t.debit then -t.amount end), 0) as available,
      coalesce(sum(case 'user:held' when t.credit then t.amount when t.debit then -t.amount end), 0) as held
    from credit_transfers t where t.account_id = a.account_id) j
  cross join lateral (
    select coalesce(sum(amount), 0) as open from credit_holds where account_id = a.account_id and state = 'held') h
  where a.posted - a.held <> j.available or a.held <> j.held or a.held <> h.open
  union all
  select 'journal chain', c.account_id, c.run_id, format('transfer %s does not follow from the previous transfer', c.id)
  from (
    select t.*, lag(t.posted_after, 1, 0::bigint) over w as posted_before, lag(t.held_after, 1, 0::bigint) over w as held_before
    from credit_transfers t window w as (partition by t.account_id order by t.id)) c
  where (c.posted_after <> c.posted_before + case
      when c.kind in ('grant', 'earn') then c.amount when c.kind in ('capture', 'expire') then -c.amount
      when c.kind = 'adjust' then case when c.credit = 'user:available' then c.amount else -c.amount end else 0 end
    or c.held_after <> c.held_before + case
      when c.kind = 'hold' then c.amount when c.kind in ('capture', 'release') then -c.amount else 0 end)
    and not exists (select 1 from credit_accounts a where a.account_id = c.account_id and a.journal_accepted_to >= c.id)
  union all
  select 'hold of a finished run', r.account_id, r.id, 'the run is final, but its hold is open'
  from runs r join credit_holds c on c.account_id = r.account_id and c.run_id = r.id
  where r.finished_at is not null and c.state = 'held'
  union all
  select 'credits differ from the capture', r.account_id, r.id, format('run %s, captured %s', r.credits, c.captured)
  from runs r join credit_holds c on c.account_id = r.account_id and c.run_id = r.id
  where r.finished_at is not null and r.credits is distinct from c.captured
  union all
  select 'hold without a run', c.account_id, c.run_id, 'no run has this id'
  from credit_holds c where c.state = 'held'
    and not exists (select 1 from runs r where r.account_id = c.account_id and r.id = c.run_id)
  union all
  select 'backing above the hold', b.account_id, b.run_id,
    format('%s expired credits back an open hold of %s', b.amount, coalesce(h.amount, 0))
  from credit_expired_backing b
  left join credit_holds h on h.account_id = b.account_id and h.run_id = b.run_id and h.state = 'held'
  where b.amount > coalesce(h.amount, 0)
  union all
  select 'grants above the balance', a.account_id, null,
    format('grants %s, expired credits that back holds %s, posted %s', g.remaining, b.amount, a.posted)
  from credit_accounts a
  cross join lateral (
    select coalesce(sum(remaining), 0) as remaining from credit_grants
    where account_id = a.account_id and remaining > 0) g -- the condition of the index
  cross join lateral (
    select coalesce(sum(amount), 0) as amount from credit_expired_backing where account_id = a.account_id) b
  where g.remaining + b.amount > a.posted
  union all
  select 'budget of a key', b.account_id, null,
    format('budget %s counts %s for %s, its holds say %s', b.budget_id, b.counted, to_char(b.month, 'YYYY-MM'), b.held)
  from (
    select account_id, budget_id, month, sum(counted) as counted, sum(held) as held
    from (
      select account_id, budget_id, month, used as counted, 0 as held from credit_budgets
      union all
      select account_id, budget_id, budget_month, 0, coalesce(captured, amount) from credit_holds
      where budget_id is not null) parts
    group by account_id, budget_id, month) b
  where b.counted <> b.held
  union all
  select 'share of an author', h.account_id, h.run_id,
    format('captured %s, of which the author earns %s percent; booked are %s hundredths', h.captured, h.author_share,
      coalesce(e.hundredths, 0))
  from credit_holds h left join credit_earnings e using (account_id, run_id)
  where h.author_share > 0 and credit_earned(coalesce(h.captured, 0), h.author_share) <> coalesce(e.hundredths, 0)
  union all
  select 'earnings of an author', a.account_id, null,
    format('collected %s hundredths; journal says %s credits, and %s hundredths are left', e.collected, j.earned, a.earned_rest)
  from credit_accounts a
  cross join lateral (
    select coalesce(sum(hundredths), 0) as collected from credit_earnings
    where author_id = a.account_id and collected_at is not null) e
  cross join lateral (
    select coalesce(sum(amount), 0) as earned from credit_transfers
    where account_id = a.account_id and kind = 'earn') j
  where e.collected <> 100 * j.earned + a.earned_rest;
