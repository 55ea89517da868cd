-- promptd: compatible
-- Many runs of one prompt version that a caller asked for at once. Its runs are rows of `runs` like all others.
create table batches (
  account_id uuid not null,
  id uuid not null, -- uuid v7 made by the application before the insert
  name text,
  prompt_version_id uuid not null,
  run_options json not null,
  api_key_id uuid not null, -- whose runs they are; another one after a resume
  request_id uuid not null,
  idempotency_key text collate "C" check (octet_length(idempotency_key) between 1 and 255),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  status text collate "C" not null default 'running' check (status in ('running', 'paused', 'canceled', 'finished')),
  pause_reason text collate "C",
  pause_message text,
  paused_at timestamptz,
  retry_at timestamptz, -- when a paused batch tries again; null: its owner has to resume it
  total int not null check (total > 0),
  -- items that have ended, with what their runs were charged: written by the transaction that marks them ended
  succeeded int not null default 0,
  failed int not null default 0,
  canceled int not null default 0,
  credits bigint not null default 0,
  created_at timestamptz not null default promptd_now(),
  finished_at timestamptz, -- nothing of it is open any more
  primary key (account_id, id),
  check ((status = 'paused') = (pause_reason is not null)),
  check (succeeded + failed + canceled <= total)
);
create unique index batches_key on batches (account_id, idempotency_key) where idempotency_key is not null;
create index batches_open on batches (account_id, id) where finished_at is null;

-- The items of a batch in the caller's order. `run_id` is written by the transaction that creates the run: an item has
-- one run at most, whichever process dies in between.
create table batch_items (
  batch_id uuid not null,
  item int not null, -- its index in the request, from 0
  account_id uuid not null,
  key text,
  inputs json, -- null once its run exists, which has them
  run_id uuid,
  error text, -- why it could not be started; it has no run then
  ended_at timestamptz,
  primary key (batch_id, item)
);
create index batch_items_waiting on batch_items (batch_id, item) where run_id is null and ended_at is null;
create index batch_items_open on batch_items (batch_id, item) where run_id is not null and ended_at is null;
