-- promptd: compatible
-- Role -> its enabled models when the prompts that name it were last bound: a start compares this, and looks at no prompt
-- while nothing changed.
create table role_bindings (
  role text primary key,
  models text[] not null,
  changed_at timestamptz not null default promptd_now()
);
