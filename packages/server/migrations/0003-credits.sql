-- promptd: compatible
-- Balances. What can be spent now is posted - held, less what has expired, is not written off yet and backs no hold.
create table credit_accounts (
  account_id uuid primary key,
  posted bigint not null default 0 check (posted >= 0),
  held bigint not null default 0 check (held >= 0),
  frozen_at timestamptz,
  check (held <= posted)
) with (fillfactor = 50);

-- What is left of each grant that expires. It is spent earliest expiry first, and 0 once its expiry is processed; from
-- then on credit_expired_backing has what backs a hold. The rest of `posted` never expires.
create table credit_grants (
  grant_id bigint generated always as identity primary key,
  account_id uuid not null,
  remaining bigint not null check (remaining >= 0),
  expires_at timestamptz not null
);
create index credit_grants_open on credit_grants (account_id, expires_at, grant_id) where remaining > 0;
create index credit_grants_expiry on credit_grants (expires_at) where remaining > 0;

-- No foreign key to runs: key-share locks on a hot table make multixacts. The audit view finds drift.
create table credit_holds (
  account_id uuid not null,
  run_id uuid not null,
  amount bigint not null check (amount > 0),
  captured bigint check (captured between 0 and amount),
  state text not null default 'held' check (state in ('held', 'captured', 'released')),
  primary key (account_id, run_id),
  check (case state when 'held' then captured is null when 'captured' then captured > 0 else captured = 0 end)
);
create index credit_holds_open on credit_holds (account_id) where state = 'held';

-- The expired credits that back open holds. What is left of a grant when it expires backs the holds that are open at that
-- moment, the earliest created first; the rest is written off. A run pays with this backing before anything else. What it
-- does not pay expires when it ends, so it never backs a hold taken after the expiry. It is a table of its own because it
-- is written under the lock of the balance, and a settlement waits for that lock while it has holds locked.
create table credit_expired_backing (
  account_id uuid not null,
  run_id uuid not null,
  amount bigint not null check (amount > 0),
  primary key (account_id, run_id)
);

-- The journal. One row = one debit and one credit of one amount, so it balances by construction;
-- posted_after and held_after let each row be checked against the one before.
create table credit_transfers (
  id bigint generated always as identity primary key,
  account_id uuid not null,
  kind text not null check (kind in ('grant', 'hold', 'capture', 'release', 'expire', 'adjust')),
  debit text not null,
  credit text not null,
  amount bigint not null check (amount > 0),
  run_id uuid,
  idem text,
  actor text,
  -- of a grant, as it was given: credit_grants holds what is left, this says what a repeated key must ask for
  expires_at timestamptz,
  posted_after bigint not null,
  held_after bigint not null,
  at timestamptz not null default promptd_now(),
  check (debit <> credit),
  check ((kind in ('hold', 'capture', 'release')) = (run_id is not null))
);
create index credit_transfers_account on credit_transfers (account_id, id);
create unique index credit_transfers_run on credit_transfers (account_id, run_id, kind) where run_id is not null;
create unique index credit_transfers_idem on credit_transfers (account_id, idem) where idem is not null;
