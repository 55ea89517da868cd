-- promptd: compatible, concurrent
-- What was done to an account is read beside what was done in it. A hash, since what a command names may be long.
create index concurrently audit_entries_subject on audit_entries using hash ((lower(subject) collate "C"));
