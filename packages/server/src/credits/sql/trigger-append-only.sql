-- In a file of its own: making it locks its table, which a change of the function need not do.
create or replace trigger append_only before update or delete or truncate on credit_transfers
  for each statement execute function journal_is_append_only();
