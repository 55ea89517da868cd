-- promptd: compatible
-- Files: stored image inputs of runs, and what models generated. The bytes are in the blob store under the file's id.

-- A row is written only after its blob is durable; a blob without a row is swept after two hours.
-- Rows stay after their bytes are gone, so that a run's history can be explained.
create table files (
  id uuid primary key,
  account_id uuid not null,
  run_id uuid not null,
  attempt int not null check (attempt >= 0),       -- 0 for inputs, which belong to every attempt
  kind text not null check (kind in ('input', 'output')),
  sha256 bytea not null check (octet_length(sha256) = 32),
  bytes bigint not null check (bytes > 0),
  mime text collate "C" not null,
  key_id int,                                      -- which key signed the address; inputs have none
  generated_at timestamptz not null,
  expires_at timestamptz not null,                 -- fixed here for ever: reading a file never extends it
  deleted_at timestamptz,                          -- marked for removal
  removed_at timestamptz,                          -- bytes are gone; without it every sweep would unlink every file again
  check ((kind = 'output') = (key_id is not null)),
  check (removed_at is null or deleted_at is not null)
);
create index files_run on files (account_id, run_id);
create index files_expiry on files (expires_at) where deleted_at is null;
create index files_removal on files (expires_at, id) where deleted_at is not null and removed_at is null;

-- Which blobs belong to this database: the store carries a mark that every sweep of orphans changes, and this row records
-- what the mark was and what it became. A database of another id, a copy and an older backup all differ from the mark.
create table blob_store_mark (
  is_only boolean primary key default true check (is_only),
  installation_id uuid not null,
  seen text not null,                              -- what the last sweep found; '' before the first
  written text not null                            -- what it wrote in its place, if it did not die before
);

-- Which secrets sign file addresses, newest last. A process whose secret is not the newest here refuses to start:
-- files signed by one host would otherwise fail on the next. Only a fingerprint is stored, never a key.
create table file_keys (
  id int primary key check (id > 0),
  fingerprint bytea not null check (octet_length(fingerprint) = 8),
  created_at timestamptz not null default promptd_now(),
  retired_at timestamptz
);
