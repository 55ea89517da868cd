-- The rate limit of a scope without an API key.

-- Counts one request of a scope against p_limit in any second, by the rules of take_from_ring.
create or replace function rate_admit(p_scope uuid, p_limit int)
returns table (admitted boolean, used int, wait_us bigint) language sql as $$
  insert into rate_rings as ring (scope_id, times, counts, used, admitted)
    select p_scope, taken.times, taken.counts, taken.used, taken.admitted
    from take_from_ring('{}', '{}', 0, 1, p_limit) taken
  on conflict (scope_id) do update set (times, counts, used, admitted) = (
    select taken.times, taken.counts, taken.used, taken.admitted
    from take_from_ring(ring.times, ring.counts, ring.used, 1, p_limit) taken)
  returning ring.admitted > 0, ring.used,
    greatest(1, ring.times[1] + 1000000 - (extract(epoch from promptd_now()) * 1000000)::bigint)
$$;
