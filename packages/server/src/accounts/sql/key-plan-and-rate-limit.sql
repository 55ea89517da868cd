-- Admission of API requests: key, plan, and rate limit.

-- Admits up to p_wanted requests of one scope: any second (t - 1 s, t] admits at most p_limit requests, and refused
-- requests do not count. Called under the scope's row lock, where it reads the time once. It drops times more than 1 s
-- in the future, because they mean that the clock stepped back. Above 100 requests per second, a request counts from
-- the end of its 10 ms interval, so that the ring for any limit has at most 100 times and fits into its row.
--
-- The times are in order, and p_used is the sum of their counts. So an admission only examines what it drops and adds,
-- and copies the ring only if it drops something. If the clock stepped back a little, a request counts with the last
-- time, and so for longer. A row written by an earlier promptd has no sum, and its ring starts empty.
create or replace function take_from_ring(
  p_times bigint[], p_counts int[], p_used int, p_wanted int, p_limit int,
  out times bigint[], out counts int[], out used int, out admitted int
) language plpgsql volatile as $$
declare
  now_us bigint := (extract(epoch from promptd_now()) * 1000000)::bigint;
  counted_us bigint := case when p_limit > 100 then (now_us + 9999) / 10000 * 10000 else now_us end;
  first int := 1;
  last int := case when p_used is null then 0 else cardinality(p_times) end;
begin
  used := p_used;
  while first <= last and p_times[first] <= now_us - 1000000 loop
    used := used - p_counts[first];
    first := first + 1;
  end loop;
  while first <= last and p_times[last] > now_us + 1000000 loop
    used := used - p_counts[last];
    last := last - 1;
  end loop;
  if first > last then used := 0; end if;
  times := p_times;
  counts := p_counts;
  if first > 1 or last < cardinality(p_times) then
    times := p_times[first:last];
    counts := p_counts[first:last];
  end if;
  admitted := greatest(0, least(p_wanted, p_limit - used));
  if admitted = 0 then return; end if;
  used := used + admitted;
  last := cardinality(times);
  if times[last] >= counted_us then
    counts[last] := counts[last] + admitted;
  else
    times[last + 1] := counted_us;
    counts[last + 1] := admitted;
  end if;
end $$;

-- Checks key, plan, and rate limit of a batch of requests in one statement. Returns one row per known key. A revoked or
-- expired key has a row too but is not counted; a missing row means an unknown key. `expired_at` is null until the key
-- has expired. `rank` numbers the requests of a scope within the batch; rank > admitted is over the limit. Scopes are
-- locked in id order, so that two batches cannot deadlock. All batches share one plan, because planning took as long as
-- admitting. That plan reads one key after the other by index, so it stays right however many keys there are. The row
-- read for the plan of the account also has what GET /v1/me returns.
create or replace function admit_requests(p_hashes bytea[], p_limit int, p_per_key boolean)
returns table (
  nth int, key_id uuid, account_id uuid, revoked_at timestamptz, expired_at timestamptz, pro_until timestamptz,
  pro boolean, username text, display_name text, user_flags int, admitted int, rank int, used int, wait_us bigint
) language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
begin
  return query
  with known as materialized (
    select h.nth::int as nth, k.id as key_id, a.id as account_id, k.revoked_at,
      case when k.expires_at <= promptd_now() then k.expires_at end as expired_at, a.pro_until,
      a.pro_until > promptd_now() as pro, a.username, a.display_name, a.user_flags,
      case when p_per_key then k.id else a.id end as scope_id
    from unnest(p_hashes) with ordinality h (hash, nth)
    cross join lateral (select * from api_keys where key_hash = h.hash limit 1) k
    cross join lateral (select * from accounts where id = k.account_id limit 1) a
  ), ranked as materialized (
    select known.*, (row_number() over (partition by scope_id order by nth))::int as rank
    from known where revoked_at is null and expired_at is null
  ), wanted as (
    select scope_id, count(*)::int as n from ranked group by scope_id
  ), rings as (
    insert into rate_rings as ring (scope_id, times, counts, used, admitted)
    select scope_id, array[(extract(epoch from promptd_now()) * 1000000)::bigint], array[least(n, p_limit)],
        least(n, p_limit), least(n, p_limit)
      from wanted order by scope_id -- its first requests
    on conflict (scope_id) do update set (times, counts, used, admitted) = (
      select taken.times, taken.counts, taken.used, taken.admitted
      from take_from_ring(ring.times, ring.counts, ring.used, excluded.admitted, p_limit) taken)
    returning ring.scope_id, ring.times[1] as oldest, ring.used, ring.admitted
  )
  select known.nth, known.key_id, known.account_id, known.revoked_at, known.expired_at, known.pro_until, known.pro,
    known.username, known.display_name, known.user_flags,
    coalesce(rings.admitted, 0), coalesce(ranked.rank, 0), coalesce(rings.used, 0),
    case when rings.oldest is null then 0 else
      greatest(1, rings.oldest + 1000000 - (extract(epoch from promptd_now()) * 1000000)::bigint) end
  from known
  left join ranked on ranked.nth = known.nth
  left join rings on rings.scope_id = known.scope_id;
end $$;
