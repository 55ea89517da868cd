-- promptd: compatible
-- People who sign in, with what better-auth keeps of them; only the people slice knows these tables.
create table auth_users (
  id uuid primary key,
  name text not null,
  email text collate "C" not null unique check (email = lower(email)),
  email_verified boolean not null default false,
  image text,
  two_factor_enabled boolean not null default false,
  -- of the whole installation
  is_operator boolean not null default false,
  -- a frozen person can do nothing at all, by no session and no token
  frozen_at timestamptz,
  created_at timestamptz not null default promptd_now(),
  updated_at timestamptz not null default promptd_now()
);

-- A session's token is in the cookie beside a signature of it, so the token alone, as it stands here, opens nothing.
create table auth_sessions (
  id uuid primary key,
  user_id uuid not null references auth_users on delete cascade,
  token text collate "C" not null unique,
  expires_at timestamptz not null,
  ip_address text,
  user_agent text,
  created_at timestamptz not null default promptd_now(),
  updated_at timestamptz not null default promptd_now()
);
create index auth_sessions_user on auth_sessions (user_id);

-- Ways in: a password (provider "credential"), or an account at a sign-in service.
create table auth_logins (
  id uuid primary key,
  user_id uuid not null references auth_users on delete cascade,
  provider_id text collate "C" not null,
  account_id text collate "C" not null,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz,
  refresh_token_expires_at timestamptz,
  scope text,
  password text,
  created_at timestamptz not null default promptd_now(),
  updated_at timestamptz not null default promptd_now(),
  unique (provider_id, account_id)
);
create index auth_logins_user on auth_logins (user_id);

create table auth_verifications (
  id uuid primary key,
  identifier text collate "C" not null,
  value text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default promptd_now(),
  updated_at timestamptz not null default promptd_now()
);
create index auth_verifications_identifier on auth_verifications (identifier);
create index auth_verifications_expiry on auth_verifications (expires_at);

create table auth_two_factors (
  id uuid primary key,
  user_id uuid not null references auth_users on delete cascade,
  secret text not null,
  backup_codes text not null,
  verified boolean not null default true,
  failed_verification_count int not null default 0,
  locked_until timestamptz
);
create index auth_two_factors_user on auth_two_factors (user_id);

create table auth_passkeys (
  id uuid primary key,
  user_id uuid not null references auth_users on delete cascade,
  name text,
  public_key text not null,
  credential_id text collate "C" not null unique,
  counter bigint not null,
  device_type text not null,
  backed_up boolean not null,
  transports text,
  aaguid text,
  created_at timestamptz default promptd_now()
);
create index auth_passkeys_user on auth_passkeys (user_id);

-- Attempts to sign in, by address and path. Unlogged: a crash of the database server forgets at most one window.
create unlogged table auth_rate_limits (
  id uuid primary key,
  key text collate "C" not null unique,
  count int not null,
  last_request bigint not null
);

-- Who may act in an account. A personal account is made at the first sign-in.
create table account_members (
  account_id uuid not null references accounts,
  person_id uuid not null references auth_users on delete cascade,
  role text collate "C" not null check (role in ('member', 'owner')),
  is_personal boolean not null default false,
  created_at timestamptz not null default promptd_now(),
  primary key (account_id, person_id)
);
create index account_members_person on account_members (person_id);
create unique index account_members_personal on account_members (person_id) where is_personal;

-- Invitations to an account, or, without one, to the installation. Only the SHA-256 of a code is stored.
create table invitations (
  id uuid primary key,
  account_id uuid references accounts,
  email text collate "C" not null check (email = lower(email)),
  role text collate "C" not null check (role in ('member', 'owner')),
  code_hash bytea not null unique check (octet_length(code_hash) = 32),
  invited_by uuid references auth_users on delete set null,
  created_at timestamptz not null default promptd_now(),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  accepted_by uuid references auth_users on delete set null,
  revoked_at timestamptz
);
create index invitations_account on invitations (account_id, id);
create index invitations_email on invitations (email) where accepted_at is null and revoked_at is null;

-- Management tokens: a person's, for one account.
create table management_tokens (
  id uuid primary key,
  person_id uuid not null references auth_users on delete cascade,
  account_id uuid not null references accounts,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  name text not null,
  display text not null,
  scopes text[] not null check (cardinality(scopes) > 0),
  created_at timestamptz not null default promptd_now(),
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index management_tokens_person on management_tokens (person_id, account_id, id);

-- One-time codes of welcome and sign-in links. Only their SHA-256 is stored.
create table sign_in_codes (
  code_hash bytea primary key check (octet_length(code_hash) = 32),
  -- who signs in with it; null: the person is made when it is used
  person_id uuid references auth_users on delete cascade,
  -- the account that such a person owns from then on; null: a new one
  account_id uuid references accounts,
  makes_operator boolean not null,
  -- false: a password, and an e-mail address where none is known, are asked for first
  signs_in boolean not null,
  created_at timestamptz not null default promptd_now(),
  expires_at timestamptz not null,
  used_at timestamptz
);

-- Writes of the management API and of the operator's terminal. Rows are added, and removed when they are old; never changed.
create table audit_entries (
  id uuid primary key,
  at timestamptz not null default promptd_now(),
  actor text collate "C" not null check (actor in ('session', 'token', 'terminal', 'none')),
  person_id uuid,
  token_id uuid,
  account_id uuid,
  action text collate "C" not null,
  subject text,
  address text,
  request_id uuid,
  outcome text collate "C" not null
);
create index audit_entries_person on audit_entries (person_id, id) where person_id is not null;
create index audit_entries_account on audit_entries (account_id, id) where account_id is not null;
create index audit_entries_action on audit_entries (action, id);
create index audit_entries_time on audit_entries (at);
