-- The journal is append-only. A trigger and not a `do instead nothing` rule, which would hide the bug that tried to write.
create or replace function journal_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'credit_transfers is append-only' using errcode = 'PD900';
end $$;
