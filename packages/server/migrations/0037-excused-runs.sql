-- promptd: compatible
-- Of the runs of a version, those that failed and say nothing of the prompt: view version_use_of_events. Older days have none.
alter table version_days add column excused bigint not null default 0;
