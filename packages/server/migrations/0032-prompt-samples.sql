-- promptd: compatible
-- What a prompt shows as made by it: a run of its author, in place of the sample of its file.
create table prompt_samples (
  prompt_id uuid primary key references prompts on delete cascade,
  run_id uuid not null,
  text_inputs json not null,
  -- A text, or a picture: a row of files of the kind 'sample'.
  output_text text,
  file_id uuid,
  taken_at timestamptz not null default promptd_now(),
  check ((output_text is null) <> (file_id is null))
);
