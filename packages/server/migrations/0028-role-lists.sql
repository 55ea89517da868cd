-- promptd: compatible
-- `models` are from now on what a role may mean, best first, as the process that started last lists them; `enabled` those
-- of them that were enabled when the role's prompts were last bound. Nothing reads changed_at any more.
alter table role_bindings add column enabled text[];
update role_bindings set enabled = models;
