-- promptd: compatible
-- What the account of the invited begins with, by an operator's word; null: what the settings give everybody new.
alter table invitations
  add column plan text collate "C" check (plan in ('pro', 'none')),
  add column credits int check (credits >= 0);
