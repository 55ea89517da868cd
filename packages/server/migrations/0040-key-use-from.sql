-- promptd: compatible
-- The address of a key's last request. Null: unknown, or the key was never used. Older programs leave it as it is.
alter table api_keys add column last_used_from text collate "C";
