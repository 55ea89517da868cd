-- promptd: compatible
-- What a key may do, and until when.
alter table api_keys
  add column expires_at timestamptz,
  -- credits that runs of this key may take in a calendar month (UTC); null: as many as the account has
  add column monthly_cap bigint check (monthly_cap >= 0),
  -- the prompts that this key may run; null: all
  add column prompt_ids uuid[] check (cardinality(prompt_ids) > 0),
  -- the first of the keys that this one was rolled from, whose budget it has: a roll does not give a month anew;
  -- null: itself
  add column budget_id uuid;

-- What the runs of a budget hold and have captured in a month, counted for every key: a cap that is set later counts
-- what came before it. A row is written under the lock of its account's balance only.
create table credit_budgets (
  account_id uuid not null,
  budget_id uuid not null,
  month date not null, -- its first day, UTC
  used bigint not null check (used >= 0),
  primary key (account_id, budget_id, month)
) with (fillfactor = 50);
