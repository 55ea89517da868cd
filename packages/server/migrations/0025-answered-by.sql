-- promptd: compatible
-- The model that answered in place of the prompt's own: its fallback. Null: the own one, or nothing has answered yet.
alter table runs add column answered_by text collate "C";
