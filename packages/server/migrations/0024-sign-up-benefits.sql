-- promptd: compatible
-- Addresses that have had the credits and the plan of a sign-up, as SHA-256, longer than their person: who deletes an account
-- and signs up again gets neither a second time.
create table sign_up_benefits (
  address_hash bytea primary key check (octet_length(address_hash) = 32),
  given_at timestamptz not null default promptd_now()
);
