-- promptd: compatible
-- Challenges that a passkey has answered: each is answered once. One that is given out is signed and not stored, so that
-- strangers who ask for challenges write nothing here.
create table passkey_challenges (
  challenge bytea primary key,
  expires_at timestamptz not null
);
