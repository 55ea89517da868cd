-- The one clock of leases, limits and expiries: a test database may replace it by one with an offset.
-- It is volatile, so it is never an index condition: copy it into a variable before a range scan.
create function promptd_now() returns timestamptz language sql volatile as $$ select clock_timestamp() $$;

-- Periodic work. A turn is taken by exactly one process; turns are not queued, so the work must converge.
create table cron_ticks (
  name text collate "C" primary key,
  every interval not null,
  next_at timestamptz not null
);

-- The ones of p_names whose turn the caller has won. A turn further away than its interval was set by a clock that was
-- ahead. Whom another process is taking just now is skipped: nobody waits, and two who take several never deadlock.
create function ticks_claim(p_names text[]) returns setof text language sql as $$
  update cron_ticks set next_at = promptd_now() + every
  where name in (
    select name from cron_ticks
    where name = any (p_names) and (next_at <= promptd_now() or next_at > promptd_now() + every)
    for update skip locked)
  returning name
$$;

-- What has happened once in this installation, such as its seeding.
create table installation_facts (
  name text collate "C" primary key,
  at timestamptz not null default promptd_now()
);
