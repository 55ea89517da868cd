-- The one clock of leases, limits and expiries: a test database may replace it by one with an offset.
-- It is volatile, so it is never an index condition: copy it into a variable before a range scan.
create function promptd_now() returns timestamptz language sql volatile as $$ select clock_timestamp() $$;

-- Periodic work. A turn is taken by exactly one process; turns are not queued, so the work must converge.
create table cron_ticks (
  name text collate "C" primary key,
  every interval not null,
  next_at timestamptz not null
);

create function cron_take(p_name text) returns boolean language sql as $$
  with taken as (
    update cron_ticks set next_at = promptd_now() + every where name = p_name and next_at <= promptd_now() returning 1
  )
  select exists (select 1 from taken)
$$;

-- What has happened once in this installation, such as its seeding.
create table installation_facts (
  name text collate "C" primary key,
  at timestamptz not null default promptd_now()
);
