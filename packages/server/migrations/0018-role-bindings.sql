-- promptd: compatible
-- What roles may mean, and what they meant when the prompts that name them were last bound: a start compares this, and looks
-- at no prompt while nothing changed.
create table role_bindings (
  role text primary key,
  models text[] not null, -- best first, as the process that started last lists them
  enabled text[] -- of these, those that were enabled when the prompts were bound; null: they were not yet
);
