-- promptd: compatible
-- Runs of published versions by the day (UTC) on which they ended, whoever made them: what authors see.
create table version_days (
  prompt_id uuid not null,
  day date not null,
  prompt_version_id uuid not null,
  runs bigint not null,
  failed bigint not null,
  credits bigint not null,
  primary key (prompt_id, day, prompt_version_id)
);
create index version_days_day on version_days (day);
