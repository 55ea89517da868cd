-- promptd: compatible
-- True: the link went out by mail alone, so who opens it reads the mail of its address.
alter table invitations add column is_mailed boolean not null default false;
