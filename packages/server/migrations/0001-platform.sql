-- promptd: compatible
-- Periodic work. One process claims each tick. Missed ticks are not made up for, so the work must converge.
create table cron_ticks (
  name text collate "C" primary key,
  every interval not null,
  next_at timestamptz not null
);

-- What has happened once in this installation, such as its seeding.
create table installation_facts (
  name text collate "C" primary key,
  at timestamptz not null default promptd_now()
);
