-- promptd: compatible
-- Runs that have ended and are not in usage_days yet: a queue, written by the transaction that ends a run and emptied by
-- a tick. There is no other index, since it holds what ended in the last minutes.
create table usage_events (
  id bigint generated always as identity primary key,
  account_id uuid not null,
  run_id uuid not null,
  prompt_version_id uuid not null,
  model text collate "C" not null,
  api_key_id uuid,
  is_ok boolean not null,
  credits bigint not null,
  ended_at timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- What was used on a day (UTC), by everything one may ask by. A run counts on the day on which it ended.
create table usage_days (
  day date not null,
  account_id uuid not null,
  api_key_id uuid, -- null: no key asked for the runs
  prompt_id uuid, -- null: its version is not known any more
  model text collate "C" not null,
  runs bigint not null,
  failed bigint not null,
  credits bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost_micro bigint not null, -- what providers charge, at the catalogue's prices; 1 credit = 1,000,000
  earned_hundredths bigint not null -- by the author of the prompt, of the credits
);
create unique index usage_days_key on usage_days (account_id, day, api_key_id, prompt_id, model) nulls not distinct;
create index usage_days_day on usage_days (day);
create index usage_days_prompt on usage_days (prompt_id, day);
