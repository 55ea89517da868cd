-- promptd: compatible
-- Calls of providers, and which models are offered. The catalogue itself is a file.

-- One row per call of a provider, written before it. It bounds the calls of an item across crashes, lets a later attempt
-- find a video that was started already, and is the operator's record of cost (the ledger is the caller's).
create table provider_calls (
  run_id uuid not null,
  step int not null,
  item int not null,
  call_number int not null check (call_number between 1 and 3),
  account_id uuid not null,
  attempt int not null, -- of the run; a worker that lost the run writes no row of a later attempt
  model text collate "C" not null,
  provider text collate "C" not null,
  provider_model text not null,
  request_token uuid not null default gen_random_uuid(), -- a repeat after a lost answer finds its row by it
  sent_at timestamptz not null default promptd_now(),
  operation json, -- how the provider names a started video; null for everything that is answered at once
  ended_at timestamptz,
  -- 'text', 'image', 'video', 'refused' or the cause of the failure; of a video that no run waits for any more 'canceled',
  -- 'cancel_failed' or 'cancel_impossible', and 'timeout', without ended_at, until that is known; null: unknown
  outcome text collate "C",
  http_status int,
  provider_code text,
  request_id text,
  usage json,
  usage_estimated boolean,
  cost_micro bigint, -- at the catalogue's prices, without the operator's factor; 1 credit = 1,000,000
  primary key (run_id, step, item, call_number)
);
create index provider_calls_started on provider_calls (sent_at) where operation is not null;
create index provider_calls_time on provider_calls using brin (sent_at);

-- The models that are offered, for all processes: were each to decide alone, their lists and hashes could differ.
-- The process that started last writes what its configuration enables; what probes find is stored beside it.
create table enabled_models (
  model text collate "C" primary key,
  is_found boolean not null default false, -- by asking a running server for its models
  server json, -- of a found model that no file knows: its address and its name there
  missed int not null default 0 -- probes in a row that did not find it
);

-- Public numbers of models that no file knows, assigned once and never changed.
create table model_indexes (
  model text collate "C" primary key,
  index int not null unique generated always as identity (start with 20000)
);
