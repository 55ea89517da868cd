-- promptd: compatible
-- How many requests a ring counts in all, so that nobody has to add them up. Null: written by an earlier promptd.
alter table rate_rings add column used int;
