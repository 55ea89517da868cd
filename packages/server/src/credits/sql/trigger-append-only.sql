-- In its own file, because creating the trigger locks the table and changing the function does not need that.
create or replace trigger append_only before update or delete or truncate on credit_transfers
  for each statement execute function journal_is_append_only();
