-- The run row is the job: what callers see and what the queue needs, in one place, so that they cannot disagree.
-- `status` never goes backwards; who owns a run is `worker` (null and not finished = claimable).
create table runs (
  account_id uuid not null,
  id uuid not null, -- uuid v7 made by the application before the insert
  prompt_version_id uuid not null,
  run_name text not null,
  lane smallint not null default 0,
  model text collate "C" not null,
  status text collate "C" not null default 'queued' check (status in ('queued', 'running', 'succeeded', 'failed')),
  attempt int not null default 0, -- the fence: rises at each claim, never falls
  max_attempts int not null default 3,
  worker uuid,
  run_at timestamptz not null default promptd_now(),
  deadline_at timestamptz not null,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  hold bigint check (hold > 0),
  credits bigint check (credits between 0 and hold), -- hold and credits both null = free run
  prices json not null, -- the prices at creation: a later change of the catalogue does not touch this run
  inputs json not null, -- base64 images are kept as files, so a row stays small
  inputs_bytes int not null generated always as (octet_length(inputs::text)) stored, -- known without reading them
  run_options json not null default '{}',
  outputs json not null default '[]',
  fail_reason text,
  primary key (account_id, id),
  check ((status in ('succeeded', 'failed')) = (finished_at is not null)),
  check (finished_at is null or worker is null),
  check (worker is null or status = 'running'),
  check ((credits is null) = (hold is null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

create index runs_status on runs (account_id, status, id);
create index runs_waiting on runs (lane, account_id, model, run_at, id) where worker is null and finished_at is null;
create index runs_live on runs (lane, account_id, model) where worker is not null;
create index runs_worker on runs (worker) where worker is not null;
create index runs_deadline on runs (deadline_at) where finished_at is null;
create index runs_time on runs using brin (id uuid_minmax_multi_ops) with (pages_per_range = 32);

-- One lease per worker process, not per run.
create table workers (
  id uuid primary key,
  host text not null,
  os_pid int not null,
  backend_pid int not null,
  backend_start timestamptz not null,
  version text not null,
  draining boolean not null default false,
  started_at timestamptz not null default promptd_now(),
  heartbeat_at timestamptz not null default promptd_now()
) with (fillfactor = 50);

-- Scope: 'account' (the default of all), 'account:<uuid>' or 'model:<id>'. Without a row: 50 per account, models unbounded.
create table run_limits (
  scope text collate "C" primary key,
  max_running int not null check (max_running >= 0)
);

create table idempotency_keys (
  account_id uuid not null,
  key text collate "C" not null check (octet_length(key) between 1 and 255),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  run_id uuid not null,
  expires_at timestamptz not null,
  primary key (account_id, key)
);
create index idempotency_expiry on idempotency_keys (expires_at);

-- Delivered items of a run of several items: a later attempt reads them instead of paying for them again.
create table run_steps (
  account_id uuid not null,
  run_id uuid not null,
  step int not null,
  item int not null,
  result json not null,
  primary key (account_id, run_id, step, item)
);

-- How far the periodic count of runs per prompt version has come: ids up to this one are counted.
create table run_counts (
  name text collate "C" primary key,
  counted_to uuid not null
);
insert into run_counts (name, counted_to) values ('uses', '00000000-0000-0000-0000-000000000000');

-- Creates a run, holds its credits and takes its idempotency key in one transaction and one round trip.
-- Outcomes: created, joined (the run that p_key made earlier), key_conflict, not_found, no_credits, revoked (the API key
-- p_api_key, which was admitted before the body came; null: asked for by no API key).
-- Raises PD409 (another call took p_key meanwhile: everything is undone, call once more) and PD429 (too many active
-- runs).
create function run_create(
  p_account uuid, p_id uuid, p_created timestamptz, p_version uuid, p_name text, p_model text, p_hold bigint,
  p_prices json, p_inputs json, p_options json, p_deadline interval, p_max_active int, p_key text, p_fingerprint bytea,
  p_api_key uuid
) returns table (outcome text, run_id uuid, available bigint, revoked_at timestamptz) language plpgsql as $$
declare
  v_fingerprint bytea; v_run uuid; v_active int; v_revoked timestamptz;
begin
  -- Sent again after a lost answer, it waits here until the first sending has ended, however slow its commit is: only
  -- then does the next statement, with a snapshot of its own, tell whether the run exists.
  perform pg_advisory_xact_lock(hashtextextended(p_id::text, 0));
  if exists (select 1 from runs r where r.account_id = p_account and r.id = p_id) then
    return query select 'created', p_id, null::bigint, null::timestamptz;
    return;
  end if;
  select a.revoked_at into v_revoked from api_keys a where a.id = p_api_key;
  if v_revoked is not null then
    return query select 'revoked', null::uuid, null::bigint, v_revoked;
    return;
  end if;
  if p_key is not null then
    select k.fingerprint, k.run_id into v_fingerprint, v_run from idempotency_keys k
      where k.account_id = p_account and k.key = p_key and k.expires_at > promptd_now();
    if found then
      return query select case when v_fingerprint = p_fingerprint then 'joined' else 'key_conflict' end, v_run,
        null::bigint, null::timestamptz;
      return;
    end if;
  end if;
  if not exists (select 1 from prompt_versions v join prompts p on p.id = v.prompt_id
      where v.id = p_version and v.published_at is not null and p.unpublished_at is null) then
    return query select 'not_found', null::uuid, null::bigint, null::timestamptz;
    return;
  end if;
  -- One after the other, so that the count below sees the runs before this one: a free run locks no balance.
  perform pg_advisory_xact_lock(18019, hashtext(p_account::text));
  if p_hold is not null and not credit_hold(p_account, p_id, p_hold) then
    return query select 'no_credits', null::uuid, credits_available(p_account), null::timestamptz;
    return;
  end if;
  select count(*) into v_active from (
    select 1 from runs r where r.account_id = p_account and r.status in ('queued', 'running') limit p_max_active) active;
  if v_active >= p_max_active then
    raise exception 'too many active runs' using errcode = 'PD429';
  end if;
  insert into runs (account_id, id, prompt_version_id, run_name, model, created_at, deadline_at, hold, credits,
      prices, inputs, run_options)
    values (p_account, p_id, p_version, p_name, p_model, p_created, promptd_now() + p_deadline, p_hold,
      case when p_hold is null then null else 0 end, p_prices, p_inputs, p_options);
  if p_key is not null then
    insert into idempotency_keys as k (account_id, key, fingerprint, run_id, expires_at)
      values (p_account, p_key, p_fingerprint, p_id, promptd_now() + interval '24 h')
      on conflict (account_id, key) do update
        set fingerprint = excluded.fingerprint, run_id = excluded.run_id, expires_at = excluded.expires_at
        where k.expires_at <= promptd_now();
    if not found then
      raise exception 'key taken meanwhile' using errcode = 'PD409';
    end if;
  end if;
  return query select 'created', p_id, null::bigint, null::timestamptz;
end $$;

-- Claims up to p_n waiting runs for a worker, in turn over accounts and within the limits of accounts and models.
-- Cost is O(pairs scanned + live runs of the lane), not O(backlog), and not O(inputs): those of more than p_inputs bytes
-- come as null, so that no claim is too much for the time of one statement. The last row always brings the cursor
-- (next_account, next_model; null = end of the circle), even when nothing was claimed.
create function run_claim(
  p_worker uuid, p_lane int, p_n int, p_after uuid, p_after_model text, p_lease interval, p_inputs int,
  p_scan int default 300
) returns table (
  account_id uuid, id uuid, attempt int, max_attempts int, deadline_at timestamptz, prompt_version_id uuid, model text,
  hold bigint, prices json, inputs json, run_options json, next_account uuid, next_model text
) language plpgsql as $$
#variable_conflict use_column
declare
  v_now timestamptz;
begin
  -- the first statement: the next one then reads a snapshot newer than the lock
  perform pg_advisory_xact_lock(18017, p_lane);
  -- the key-share lock makes a sweep's delete wait, so no run is claimed for a worker already swept
  perform 1 from workers w
    where w.id = p_worker and not w.draining and w.heartbeat_at > promptd_now() - p_lease for key share;
  if not found then
    raise exception 'lease lost' using errcode = 'PD001';
  end if;
  v_now := promptd_now(); -- a variable: a volatile function is never an index condition
  return query
  with recursive pair (account_id, model, n) as ( -- skip-scan of the distinct (account, model) pairs with waiting runs
    (select r.account_id, r.model, 1 from runs r
      where r.lane = p_lane and r.worker is null and r.finished_at is null
        and (r.account_id, r.model) > (p_after, p_after_model)
      order by r.account_id, r.model limit 1)
    union all
    select x.account_id, x.model, pair.n + 1 from pair cross join lateral (
      select r.account_id, r.model from runs r
      where r.lane = p_lane and r.worker is null and r.finished_at is null
        and (r.account_id, r.model) > (pair.account_id, pair.model)
      order by r.account_id, r.model limit 1) x
    where pair.n < p_scan
  ), last as (
    select p.account_id, p.model from pair p where p.n = p_scan
  ), live as materialized (
    select r.account_id, r.model, count(*)::int as n from runs r
    where r.lane = p_lane and r.worker is not null group by 1, 2
  ), model_room as materialized (
    select l.model, l.max_running - coalesce(sum(v.n), 0)::int as free
    from (select substr(scope, 7) as model, max_running from run_limits where scope like 'model:%') l
    left join live v on v.model = l.model group by l.model, l.max_running
  ), account_room as materialized (
    select a.account_id, coalesce(own.max_running, def.max_running, 50) - coalesce(v.n, 0) as free, coalesce(v.n, 0) as live
    from (select distinct p.account_id from pair p) a
    left join (select w.account_id, sum(w.n)::int as n from live w group by 1) v on v.account_id = a.account_id
    left join run_limits own on own.scope = 'account:' || a.account_id
    left join run_limits def on def.scope = 'account'
  ), candidate as (
    select q.account_id, q.id, q.model, q.run_at, room.free as account_free,
      room.live + row_number() over (partition by q.account_id order by q.run_at, q.id) as round,
      row_number() over (partition by q.account_id order by q.run_at, q.id) as nth
    from pair p
    join account_room room on room.account_id = p.account_id
    left join model_room on model_room.model = p.model
    cross join lateral (
      select r.account_id, r.id, r.model, r.run_at from runs r
      where r.lane = p_lane and r.worker is null and r.finished_at is null
        and r.account_id = p.account_id and r.model = p.model and r.run_at <= v_now and r.deadline_at > v_now
      order by r.run_at, r.id
      limit greatest(0, least(p_n, room.free, coalesce(model_room.free, p_n)))) q
  ), fitting as (
    select c.*, row_number() over (partition by c.model order by c.round, c.run_at, c.id) as in_model
    from candidate c where c.nth <= c.account_free
  ), pick as materialized (
    select f.account_id, f.id from fitting f left join model_room on model_room.model = f.model
    where model_room.free is null or f.in_model <= model_room.free
    order by f.round, f.run_at, f.id limit p_n
  ), own as materialized (
    select r.account_id, r.id from runs r join pick k on k.account_id = r.account_id and k.id = r.id
    where r.worker is null and r.finished_at is null for update of r skip locked
  ), taken as (
    update runs r set status = 'running', attempt = r.attempt + 1, worker = p_worker,
      started_at = coalesce(r.started_at, promptd_now())
    from own where r.account_id = own.account_id and r.id = own.id returning r.*
  )
  select t.account_id, t.id, t.attempt, t.max_attempts, t.deadline_at, t.prompt_version_id, t.model, t.hold, t.prices,
    case when t.inputs_bytes <= p_inputs then t.inputs end, t.run_options, last.account_id, last.model
  from (values (1)) one left join taken t on true left join last on true;
end $$;

-- Makes runs final and settles their holds. Internal: the caller has locked and fenced these rows, in id order.
create function run_settle(
  p_account uuid[], p_id uuid[], p_ok boolean[], p_credits bigint[], p_outputs json[], p_reason text[]
) returns setof uuid language plpgsql as $$
declare
  v_account uuid[]; v_id uuid[]; v_credits bigint[];
begin
  with finished as (
    update runs r set status = case when d.ok then 'succeeded' else 'failed' end, worker = null,
      finished_at = promptd_now(), outputs = d.outputs, fail_reason = d.reason,
      credits = case when r.hold is null then null when d.ok then least(greatest(d.credits, 0), r.hold) else 0 end
    from unnest(p_account, p_id, p_ok, p_credits, p_outputs, p_reason) d (account_id, id, ok, credits, outputs, reason)
    where r.account_id = d.account_id and r.id = d.id and r.finished_at is null
    returning r.account_id, r.id, coalesce(r.credits, 0) as credits
  )
  select coalesce(array_agg(f.account_id), '{}'), coalesce(array_agg(f.id), '{}'), coalesce(array_agg(f.credits), '{}')
    into v_account, v_id, v_credits from finished f;
  perform credit_settle(v_account, v_id, v_credits);
  delete from run_steps s using unnest(v_account, v_id) d (account_id, run_id)
    where s.account_id = d.account_id and s.run_id = d.run_id;
  return query select unnest(v_id);
end $$;

-- Finishes a batch. The fence is (worker, attempt): a worker that lost its lease matches no row, so it can neither
-- overwrite the next attempt nor charge for it. Rows not returned were lost; sending the same arrays again is harmless.
create function run_finish(
  p_worker uuid, p_account uuid[], p_id uuid[], p_attempt int[], p_ok boolean[], p_credits bigint[],
  p_outputs json[], p_reason text[]
) returns setof uuid language plpgsql as $$
declare
  v_ours int[];
begin
  select coalesce(array_agg(locked.i), '{}') into v_ours from (
    select d.i from unnest(p_account, p_id, p_attempt) with ordinality d (account_id, id, attempt, i)
    join runs r on r.account_id = d.account_id and r.id = d.id
    where r.worker = p_worker and r.attempt = d.attempt
    order by r.account_id, r.id for update of r) locked;
  return query
    select run_settle(array_agg(p_account[i]), array_agg(p_id[i]), array_agg(p_ok[i]), array_agg(p_credits[i]),
      array_agg(p_outputs[i]), array_agg(p_reason[i]))
    from unnest(v_ours) i having count(*) > 0;
end $$;

-- Gives a run back for another attempt after a delay. False: no attempt or no time is left, or it is no longer ours.
create function run_retry(p_worker uuid, p_account uuid, p_id uuid, p_attempt int, p_delay interval)
returns boolean language sql as $$
  with given as (
    update runs set worker = null, run_at = promptd_now() + p_delay
    where account_id = p_account and id = p_id and worker = p_worker and attempt = p_attempt
      and attempt < max_attempts and promptd_now() + p_delay < deadline_at
    returning 1
  )
  select exists (select 1 from given)
$$;

-- Gives runs back without counting the attempt: the worker stops, or the provider asked to come later.
create function run_release(p_worker uuid, p_account uuid[], p_id uuid[], p_attempt int[], p_delay interval)
returns setof uuid language sql as $$
  update runs r set worker = null, run_at = promptd_now() + p_delay, max_attempts = r.max_attempts + 1
  from unnest(p_account, p_id, p_attempt) d (account_id, id, attempt)
  where r.account_id = d.account_id and r.id = d.id and r.attempt = d.attempt and r.worker = p_worker
  returning r.id
$$;

-- Gives back the runs of a worker that it does not know of: a claim took them and its answer was lost, or it let go of
-- them. The lock waits for a claim that is still under way; it is the first statement, so that the update sees what that
-- claim wrote. A run whose row is locked is left to the next look.
create function run_release_unknown(p_worker uuid, p_lane int, p_known uuid[], p_attempt int[]) returns int
language plpgsql as $$
declare
  v_given int;
begin
  perform pg_advisory_xact_lock(18017, p_lane);
  with unknown as materialized (
    select r.account_id, r.id from runs r
    where r.worker = p_worker and r.lane = p_lane
      and not exists (select 1 from unnest(p_known, p_attempt) k (id, attempt) where k.id = r.id and k.attempt = r.attempt)
    for update of r skip locked
  )
  update runs r set worker = null, run_at = promptd_now(), max_attempts = r.max_attempts + 1
    from unknown where r.account_id = unknown.account_id and r.id = unknown.id;
  get diagnostics v_given = row_count;
  return v_given;
end $$;

-- Cancels a run that is not final: at once and for good. Outcomes: not_found, finished, canceled_waiting, canceled_running.
create function run_cancel(p_account uuid, p_id uuid) returns text language plpgsql as $$
declare
  v_finished timestamptz; v_worker uuid;
begin
  select finished_at, worker into v_finished, v_worker from runs where account_id = p_account and id = p_id for update;
  if not found then return 'not_found'; end if;
  if v_finished is not null then return 'finished'; end if;
  perform run_settle(array[p_account], array[p_id], array[false], array[0::bigint],
    array['[{"type":"error","data":"Canceled by user."}]'::json], array['canceled']);
  return case when v_worker is null then 'canceled_waiting' else 'canceled_running' end;
end $$;

-- Renews a worker's lease. The connection it comes in on is written too: worker_boot_sweep knows the dead by it.
-- False: this worker was swept, its runs belong to others now.
create function worker_heartbeat(p_worker uuid) returns boolean language sql as $$
  with beat as (
    update workers set heartbeat_at = promptd_now(), backend_pid = pg_backend_pid(),
      backend_start = (select s.backend_start from pg_stat_activity s where s.pid = pg_backend_pid())
    where id = p_worker returning 1
  )
  select exists (select 1 from beat)
$$;

-- Workers that runs name and that have no row: dead, or swept while they lived. A skip-scan of the index on worker. It
-- looks at the runs, not at the rows just deleted: nothing is stranded by a skipped lock or a sweep that died half-way.
create function run_lost_workers() returns uuid[] language sql as $$
  with recursive seen (worker) as (
    (select r.worker from runs r where r.worker is not null order by r.worker limit 1)
    union all
    select (select r.worker from runs r where r.worker > seen.worker order by r.worker limit 1) from seen where seen.worker is not null
  )
  select coalesce(array_agg(seen.worker), '{}') from seen
  where seen.worker is not null and not exists (select 1 from workers x where x.id = seen.worker)
$$;

-- Removes workers whose lease ran out (or whose beat lies in the future: the clock stepped back) and gives their runs
-- back, p_batch at a time. It touches no credits and waits for no lock, so nothing that is wrong with one account keeps it
-- from the others.
create function run_recover(p_lease interval, p_batch int) returns setof uuid language plpgsql as $$
declare
  v_dead uuid[];
  v_now timestamptz := promptd_now();
begin
  if not pg_try_advisory_xact_lock(18018, 0) then return; end if;
  delete from workers where id in (
    select id from workers where heartbeat_at < v_now - p_lease or heartbeat_at > v_now + p_lease for update skip locked);
  v_dead := run_lost_workers();
  if v_dead = '{}' then return; end if;
  return query
    with lost as materialized (
      select r.account_id, r.id from runs r
      where r.worker = any (v_dead) and r.attempt < r.max_attempts and r.deadline_at > v_now
      order by r.account_id, r.id limit p_batch for update skip locked
    )
    update runs r set worker = null, run_at = v_now from lost
    where r.account_id = lost.account_id and r.id = lost.id returning r.id;
end $$;

-- Lets waiting runs start that would wait for a time far ahead, since the clock stepped back after it was written. They
-- are found by their deadline, which an index knows and which is never further away than the longest run takes; a smaller
-- step ends by itself within that time. They keep the time from start to deadline. It waits for no lock.
create function run_reschedule(p_longest interval) returns setof uuid language plpgsql as $$
declare
  v_now timestamptz := promptd_now();
  v_limit timestamptz := v_now + p_longest + interval '1 min';
begin
  return query
    with ahead as materialized (
      select r.account_id, r.id from runs r
      where r.finished_at is null and r.deadline_at > v_limit and r.worker is null
      order by r.deadline_at desc limit 500 for update skip locked
    )
    update runs r set run_at = least(r.run_at, v_now), deadline_at = v_now + least(r.deadline_at - r.run_at, p_longest)
    from ahead where r.account_id = ahead.account_id and r.id = ahead.id returning r.id;
end $$;

-- Fails runs past their deadline, and those whose dead worker had their last attempt. It waits for no lock: `skipped` are
-- runs that are not final, since their row or their credits are locked, or since they cannot be settled (`fault` says
-- why, of one of them). `is_full`: there may be more; call again, and name in p_skipped what is not to be looked at again.
create function run_fail_due(p_skipped uuid[])
returns table (failed uuid[], skipped uuid[], is_full boolean, fault text) language plpgsql as $$
declare
  v_now timestamptz := promptd_now();
  v_dead uuid[]; v_due uuid[]; v_free uuid[];
  v_account uuid[]; v_id uuid[]; v_reason text[]; v_outputs json[];
begin
  failed := '{}';
  skipped := '{}';
  is_full := false;
  if not pg_try_advisory_xact_lock(18018, 1) then
    return next;
    return;
  end if;
  v_dead := run_lost_workers();
  with late as materialized ( -- two index scans; an OR here walked the whole backlog (measured 2026-11: 758 ms)
    select r.account_id, r.id from runs r
    where r.finished_at is null and r.deadline_at <= v_now and r.id <> all (p_skipped) order by r.deadline_at limit 100
  ), lost as materialized (
    select r.account_id, r.id from runs r
    where r.worker = any (v_dead) and r.attempt >= r.max_attempts and r.deadline_at > v_now and r.id <> all (p_skipped)
    limit 100
  ), due as (
    select late.*, 'deadline' as reason from late union all select lost.*, 'worker_lost' from lost
  ), mine as materialized (
    select r.account_id, r.id, due.reason, r.created_at, r.deadline_at
    from due join runs r on r.account_id = due.account_id and r.id = due.id
    where r.finished_at is null and (due.reason = 'deadline' or r.worker = any (v_dead))
    order by r.account_id, r.id for update of r skip locked
  )
  select (select coalesce(array_agg(due.id), '{}') from due),
      100 in ((select count(*) from late), (select count(*) from lost)),
      array_agg(m.account_id), coalesce(array_agg(m.id), '{}'), array_agg(m.reason),
      array_agg(json_build_array(json_build_object('type', 'error', 'data', case
        when m.reason = 'worker_lost' then 'The run could not be completed. You were not charged.'
        when m.deadline_at < m.created_at + interval '1 min' -- pulled back
          then 'The run did not finish in time and was stopped. You were not charged.'
        else format('The run did not finish within %s minutes and was stopped. You were not charged.',
          round(extract(epoch from m.deadline_at - m.created_at) / 60)) end)))
    into v_due, is_full, v_account, v_id, v_reason, v_outputs from mine m;
  select array_agg(free) into v_free from credit_try_lock(v_account, v_id) free;
  select array_agg(m.account_id), coalesce(array_agg(m.id), '{}'), array_agg(m.reason), array_agg(m.outputs)
    into v_account, v_id, v_reason, v_outputs
    from unnest(v_account, v_id, v_reason, v_outputs) m (account_id, id, reason, outputs) where m.id = any (v_free);
  begin
    select coalesce(array_agg(s), '{}') into failed
      from run_settle(v_account, v_id, array_fill(false, array[cardinality(v_id)]),
        array_fill(0::bigint, array[cardinality(v_id)]), v_outputs, v_reason) s;
  exception when others then -- one of them cannot be settled: each by itself, so that it holds up none of the others
    for i in 1 .. cardinality(v_id) loop
      begin
        perform run_settle(array[v_account[i]], array[v_id[i]], array[false], array[0::bigint], array[v_outputs[i]],
          array[v_reason[i]]);
        failed := failed || v_id[i];
      exception when others then
        fault := format('run %s: %s', v_id[i], sqlerrm);
      end;
    end loop;
  end;
  skipped := array(select unnest(v_due) except select unnest(failed));
  return next;
end $$;

-- Embedded database only: one machine, one server. A worker whose listening connection is gone is dead, so its runs
-- need not wait for the lease. Over a network a connection may drop while the worker lives.
create function worker_boot_sweep(p_host text) returns setof uuid language sql as $$
  delete from workers w where w.host = p_host and not exists (
    select 1 from pg_stat_activity s where s.pid = w.backend_pid and s.backend_start = w.backend_start)
  returning w.id
$$;

-- Every row is a fault: a balance that its journal, its holds or its runs do not explain.
create view credit_audit as
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
  select 'journal chain', c.account_id, c.run_id, format('transfer %s does not follow from the one before', c.id)
  from (
    select t.*, lag(t.posted_after, 1, 0::bigint) over w as posted_before, lag(t.held_after, 1, 0::bigint) over w as held_before
    from credit_transfers t window w as (partition by t.account_id order by t.id)) c
  where c.posted_after <> c.posted_before + case
      when c.kind = 'grant' then c.amount when c.kind in ('capture', 'expire') then -c.amount
      when c.kind = 'adjust' then case when c.credit = 'user:available' then c.amount else -c.amount end else 0 end
    or c.held_after <> c.held_before + case
      when c.kind = 'hold' then c.amount when c.kind in ('capture', 'release') then -c.amount else 0 end
  union all
  select 'hold of a finished run', r.account_id, r.id, 'the run is final and its hold is open'
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
  select 'kept above the hold', k.account_id, k.run_id,
    format('%s expired credits kept, of an open hold of %s', k.amount, coalesce(h.amount, 0))
  from credit_expired_backing k
  left join credit_holds h on h.account_id = k.account_id and h.run_id = k.run_id and h.state = 'held'
  where k.amount > coalesce(h.amount, 0)
  union all
  select 'grants above the balance', a.account_id, null,
    format('grants %s, kept by holds %s, posted %s', g.remaining, k.amount, a.posted)
  from credit_accounts a
  cross join lateral (
    select coalesce(sum(remaining), 0) as remaining from credit_grants
    where account_id = a.account_id and remaining > 0) g -- the condition of its index
  cross join lateral (
    select coalesce(sum(amount), 0) as amount from credit_expired_backing where account_id = a.account_id) k
  where g.remaining + k.amount > a.posted;
