-- promptd: compatible
-- Names by which callers find a version of a prompt.
create table prompt_labels (
  prompt_id uuid not null references prompts on delete cascade,
  label text collate "C" not null check (label ~ '^[a-z][a-z0-9-]{0,39}$' and label <> 'latest'),
  prompt_version_id uuid not null,
  set_at timestamptz not null default promptd_now(),
  primary key (prompt_id, label),
  foreign key (prompt_id, prompt_version_id) references prompt_versions (prompt_id, id)
);
