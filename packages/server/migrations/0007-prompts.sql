-- promptd: compatible
create table prompts (
  id uuid primary key,
  author_id uuid not null references accounts,
  -- The slug in the author's own words: publishing it again makes a version of this prompt, not a new prompt.
  own_slug text collate "C" not null check (own_slug ~ '^[a-z0-9-]{1,80}$'),
  -- What callers see: the same, or with a number behind it where another author was first.
  slug text collate "C" not null unique,
  -- Latest published version; null while there are only drafts.
  latest_version_id uuid,
  up_votes int not null default 0 check (up_votes >= 0),
  uses bigint not null default 0,
  created_at timestamptz not null default promptd_now(),
  unpublished_at timestamptz,
  unique (author_id, own_slug)
);

-- definition, config and samples are json, not jsonb: jsonb reorders keys and drops the author's order of inputs.
create table prompt_versions (
  id uuid primary key,
  prompt_id uuid not null references prompts,
  number int not null check (number > 0),
  title text not null,
  description text not null,
  tags json not null,
  model text collate "C" not null,
  modality smallint not null check (modality between 0 and 2), -- text, image, video
  definition json not null, -- templates, option texts, steps: never leaves the server
  config json not null,
  samples json not null,
  estimated_credits int not null check (estimated_credits >= 0),
  estimate_basis text not null, -- hash of the prices the estimate was made from
  created_at timestamptz not null default promptd_now(),
  published_at timestamptz, -- null = draft
  unique (prompt_id, number),
  unique (prompt_id, id)
);
alter table prompts add constraint prompts_latest_version
  foreign key (id, latest_version_id) references prompt_versions (prompt_id, id);

create table prompt_votes (
  prompt_id uuid not null references prompts,
  account_id uuid not null references accounts,
  created_at timestamptz not null default promptd_now(),
  primary key (prompt_id, account_id)
);
