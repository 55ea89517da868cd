-- promptd: compatible
-- What a run has earned for the author of its prompt, in hundredths of a credit, booked by the transaction that captures
-- the price of the run. It is collected into the author's balance later, so that no run waits for the row of a balance
-- that is not its caller's.
create table credit_earnings (
  account_id uuid not null, -- the caller's
  run_id uuid not null,
  author_id uuid not null,
  hundredths bigint not null check (hundredths > 0),
  collected_at timestamptz,
  primary key (account_id, run_id)
);
create index credit_earnings_author on credit_earnings (author_id);
create index credit_earnings_open on credit_earnings (author_id) where collected_at is null;
