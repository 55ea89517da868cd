-- promptd: compatible
-- What an author writes before it is published, finished or not. A prompt that has a draft alone has a slug of its own
-- making, `draft-` and its id, until it is published.
create table prompt_drafts (
  prompt_id uuid primary key references prompts on delete cascade,
  source text not null,
  -- What its text says, as far as it can be read: lists show it.
  title text not null,
  revision int not null default 1 check (revision > 0),
  -- The latest version when the draft was begun.
  base_version_id uuid,
  -- This revision as a version without a number, made by its first test run.
  frozen_version_id uuid,
  saved_at timestamptz not null default promptd_now(),
  saved_by uuid -- a person
);
