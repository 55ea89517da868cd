-- promptd: compatible
-- Models that an operator has switched off while the server runs, whatever its configuration enables. Older programs go on
-- offering them.
create table switched_off_models (
  model text collate "C" primary key,
  switched_at timestamptz not null default promptd_now()
);
