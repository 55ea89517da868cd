-- promptd: compatible
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
  inputs json not null, -- base64 images are stored as files, so a row stays small
  inputs_bytes int not null generated always as (octet_length(inputs::text)) stored, -- known without reading them
  run_options json not null default '{}',
  outputs json not null default '[]',
  outputs_bytes int not null generated always as (octet_length(outputs::text)) stored,
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
