-- promptd: compatible
-- Where accounts want their events sent, and the events that are to be sent. There are no foreign keys: the end of a run
-- writes deliveries, and must not wait for somebody who changes a webhook.
create table webhooks (
  id uuid primary key,
  account_id uuid not null,
  url text not null,
  events text[] collate "C" not null,
  secret bytea not null, -- sealed with a key that comes from the server's secret
  previous_secret bytea, -- signs too until previous_secret_until
  previous_secret_until timestamptz,
  created_at timestamptz not null default promptd_now(),
  disabled_at timestamptz,
  disabled_reason text,
  failing_since timestamptz, -- the first attempt that failed since one succeeded
  removed_at timestamptz -- its deliveries are deleted in batches, then the row
);
create index webhooks_account on webhooks (account_id) where removed_at is null;

-- One row for each event and webhook: the outbox. A row is written in the transaction of what it reports.
create table webhook_deliveries (
  id uuid primary key, -- uuid v7
  account_id uuid not null,
  webhook_id uuid not null,
  event text collate "C" not null,
  run_id uuid, -- of run.finished: what is sent is read from the run when it is sent
  data json, -- of the other events
  state text collate "C" not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts int not null default 0, -- rises at each claim, never falls: the fence of what writes the outcome
  attempts_before int not null default 0, -- those before the last repeat, which began the schedule anew
  is_sending boolean not null default false,
  due_at timestamptz not null default promptd_now(), -- a claim moves it ahead; a process that died is followed then
  created_at timestamptz not null default promptd_now(),
  attempted_at timestamptz,
  status_code int,
  fault text,
  duration_ms int
) with (autovacuum_vacuum_scale_factor = 0.02);
create index webhook_deliveries_due on webhook_deliveries (account_id, webhook_id, due_at) where state = 'pending';
create index webhook_deliveries_list on webhook_deliveries (webhook_id, id);

-- Events that are sent once for each webhook and subject.
create table webhook_notices (
  webhook_id uuid not null,
  subject text collate "C" not null,
  noted_at timestamptz not null default promptd_now(),
  primary key (webhook_id, subject)
);

-- Accounts that want to know when their credits are low.
create table webhook_alerts (
  account_id uuid primary key,
  below bigint not null check (below > 0),
  is_low boolean not null default false,
  noted_at timestamptz -- of the last event
);
