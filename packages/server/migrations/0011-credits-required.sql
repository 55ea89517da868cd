-- promptd: compatible
-- What must be available for a run with the author's options and texts of usual length, beside what it usually costs.
-- Null: not computed yet, or published by an older program; the estimates are made anew at the next start.
alter table prompt_versions add credits_required int check (credits_required >= 0);
