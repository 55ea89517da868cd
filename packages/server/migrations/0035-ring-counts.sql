-- promptd: compatible
-- How many requests each time of a ring stands for; a time without a count stands for one.
alter table rate_rings add column counts int[] not null default '{}';
