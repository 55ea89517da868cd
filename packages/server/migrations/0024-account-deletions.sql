-- promptd: compatible
-- Accounts that are deleted: from this row's commit on nobody acts in the account, and a tick removes what it had.
create table account_deletions (
  account_id uuid primary key references accounts,
  -- what becomes of its prompts: gone, or published without a name
  prompts text collate "C" not null check (prompts in ('remove', 'keep')),
  asked_at timestamptz not null default promptd_now(),
  finished_at timestamptz
);
create index account_deletions_open on account_deletions (asked_at) where finished_at is null;
