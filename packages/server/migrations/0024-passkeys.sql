-- promptd: compatible
alter table auth_passkeys add column last_used_at timestamptz;
