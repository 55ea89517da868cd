-- promptd: compatible
create table accounts (
  id uuid primary key,
  email text collate "C" not null unique,
  username text collate "C" unique,
  display_name text,
  user_flags int not null default 0,
  -- '-infinity' = never had a plan, 'infinity' = a plan without an end
  pro_until timestamptz not null default '-infinity',
  created_at timestamptz not null default promptd_now()
);

-- Only the SHA-256 of a key is stored: a key has 178 random bits, so a slow hash would add nothing but a way to flood us.
create table api_keys (
  id uuid primary key,
  account_id uuid not null references accounts,
  key_hash bytea not null unique check (octet_length(key_hash) = 32),
  alg smallint not null default 1,
  name text not null,
  display text not null,
  created_at timestamptz not null default promptd_now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoked_reason text
);
create index api_keys_account on api_keys (account_id);

-- The last admitted times of a limiter scope in microseconds. The scope is an account, or a key if the operator chose so.
-- Unlogged: no commit waits for the disk, and a crash of the database server admits at most one extra burst.
create unlogged table rate_rings (
  scope_id uuid primary key,
  times bigint[] not null,
  admitted int not null
) with (fillfactor = 50);
