-- promptd: compatible
-- Mails that are to be sent: a request writes a row, and a process delivers it later. The text may hold a link that signs
-- in, so it is removed once the mail was sent or given up. A mail may arrive twice, never not at all without a trace here.
create table mails (
  id uuid primary key,
  kind text collate "C" not null,
  recipient text not null,
  subject text not null,
  body text, -- null: sent or given up
  created_at timestamptz not null default promptd_now(),
  attempts int not null default 0,
  due_at timestamptz not null default promptd_now(), -- a process that delivers it moves this ahead first
  sent_at timestamptz,
  given_up_at timestamptz,
  fault text -- of the last attempt
);
create index mails_due on mails (due_at) where body is not null;
create index mails_age on mails (created_at);
