-- promptd: compatible
-- What stands beside a version: why it was published, by whom, and the text of its file. A version without a number is a
-- draft frozen for a test run: nobody but its author's account runs it, and it is never published.
alter table prompt_versions
  add column note text,
  add column published_by uuid,
  add column source text,
  alter column number drop not null;
