-- Claims up to p_n due deliveries, round robin over accounts, and within an account over its webhooks. p_account_max
-- and p_webhook_max limit how many of them this process may have in progress; p_account and p_webhook have one entry
-- per delivery in progress. All failing webhooks, whatever their accounts, share half of what the process sends at
-- once, so that receivers that hang leave room for the others, however many they are. A claimed delivery is due again
-- after p_lease, so that others take over from a process that dies. The last row always has the cursor (next_account,
-- next_webhook; null = end of the circle), even if nothing was claimed.
create or replace function webhook_claim(
  p_n int, p_account uuid[], p_webhook uuid[], p_account_max int, p_webhook_max int, p_lease interval,
  p_after_account uuid, p_after_webhook uuid, p_scan int default 300
) returns table (
  account_id uuid, id uuid, webhook_id uuid, event text, run_id uuid, data json, attempt int, attempts_before int,
  created_at timestamptz, url text, secret bytea, previous_secret bytea, next_account uuid, next_webhook uuid
) language plpgsql as $$
#variable_conflict use_column
declare
  v_now timestamptz := promptd_now(); -- a variable: a volatile function is never an index condition
begin
  return query
  with recursive pair (account_id, webhook_id, n) as ( -- skip-scan of the distinct pairs that have something pending
    (select d.account_id, d.webhook_id, 1 from webhook_deliveries d
      where d.state = 'pending' and (d.account_id, d.webhook_id) > (p_after_account, p_after_webhook)
      order by d.account_id, d.webhook_id limit 1)
    union all
    select x.account_id, x.webhook_id, pair.n + 1 from pair cross join lateral (
      select d.account_id, d.webhook_id from webhook_deliveries d
      where d.state = 'pending' and (d.account_id, d.webhook_id) > (pair.account_id, pair.webhook_id)
      order by d.account_id, d.webhook_id limit 1) x
    where pair.n < p_scan
  ), last as (
    select p.account_id, p.webhook_id from pair p where p.n = p_scan
  ), live as materialized (
    select l.account_id, l.webhook_id, count(*)::int as n from unnest(p_account, p_webhook) l (account_id, webhook_id)
    group by 1, 2
  ), failing as materialized (
    select coalesce(sum(l.n), 0)::int as n from live l join webhooks w on w.id = l.webhook_id
    where w.failing_since is not null
  ), able as materialized (
    select p.account_id, p.webhook_id, w.url, w.secret, w.failing_since is not null as is_failing,
      case when w.previous_secret_until > v_now then w.previous_secret end as previous_secret,
      coalesce((select sum(l.n) from live l where l.account_id = p.account_id), 0)::int as of_account,
      coalesce((select l.n from live l where l.webhook_id = p.webhook_id), 0) as of_webhook
    from pair p join webhooks w on w.id = p.webhook_id where w.removed_at is null and w.disabled_at is null
  ), candidate as (
    select a.account_id, a.is_failing, q.id, q.due_at, a.of_account,
      a.of_webhook + row_number() over (partition by a.webhook_id order by q.due_at, q.id) as nth
    from able a cross join lateral (
      select d.id, d.due_at from webhook_deliveries d
      where d.state = 'pending' and d.account_id = a.account_id and d.webhook_id = a.webhook_id and d.due_at <= v_now
      order by d.due_at limit greatest(0, least(p_n, p_webhook_max - a.of_webhook))) q
  ), ranked as (
    select c.id, c.due_at, c.is_failing,
      c.of_account + row_number() over (partition by c.account_id order by c.nth, c.due_at, c.id) as round
    from candidate c
  ), fair as (
    select r.*, row_number() over (partition by r.is_failing order by r.round, r.due_at, r.id) as of_kind
    from ranked r where r.round <= p_account_max
  ), pick as materialized (
    select f.id from fair f cross join failing
    where not f.is_failing or f.of_kind + failing.n <= (p_n + cardinality(p_account)) / 2
    order by f.round, f.due_at, f.id limit p_n
  ), own as materialized (
    select o.id from pick k cross join lateral (
      select d.id from webhook_deliveries d where d.id = k.id and d.state = 'pending' and d.due_at <= v_now
      for update skip locked) o
  ), taken as (
    update webhook_deliveries d set attempts = d.attempts + 1, is_sending = true, attempted_at = v_now,
      due_at = v_now + p_lease, status_code = null, fault = null, duration_ms = null
    from own where d.id = own.id returning d.*
  )
  select t.account_id, t.id, t.webhook_id, t.event, t.run_id, t.data, t.attempts, t.attempts_before, t.created_at,
    a.url, a.secret, a.previous_secret, last.account_id, last.webhook_id
  from (values (1)) one
  left join (taken t join able a on a.webhook_id = t.webhook_id) on true
  left join last on true;
end $$;
