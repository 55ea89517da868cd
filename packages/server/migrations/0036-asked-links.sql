-- promptd: compatible
-- When a person last asked for a new password where no mail is sent; null: nobody has, or an operator has made them a link.
alter table auth_users add column link_asked_at timestamptz;
