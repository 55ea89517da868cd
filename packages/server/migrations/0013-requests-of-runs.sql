-- promptd: compatible
-- The request that created a run, by which its caller names it; null: an older program created it.
alter table runs add column request_id uuid;
