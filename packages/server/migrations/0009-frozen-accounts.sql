-- promptd: compatible
-- Why and when an account was frozen or unfrozen; the last row of an account is its state. Never changed.
create table credit_freezes (
  id bigint generated always as identity primary key,
  account_id uuid not null,
  is_frozen boolean not null,
  reason text not null,
  at timestamptz not null default promptd_now()
);
create index credit_freezes_account on credit_freezes (account_id, id);

-- An operator has accepted the journal up to this row, which is append-only and so keeps a fault in its chain forever.
alter table credit_accounts add column journal_accepted_to bigint not null default 0;

-- An adjustment of 0 sets a balance back to what its journal says.
alter table credit_transfers drop constraint credit_transfers_amount_check;
alter table credit_transfers add constraint credit_transfers_amount_check
  check (amount > 0 or (amount = 0 and kind = 'adjust'));
