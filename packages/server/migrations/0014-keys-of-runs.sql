-- promptd: compatible
-- The key that asked for a run; null: none did.
alter table runs add column api_key_id uuid;
