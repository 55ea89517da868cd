-- Keeps the journal append-only. A `do instead nothing` rule would hide the bug that tried to write, so this is a
-- trigger.
create or replace function journal_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'credit_transfers is append-only' using errcode = 'PD900';
end $$;
