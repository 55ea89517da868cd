-- promptd: compatible
-- Who earns what part of the price of a run, in percent, as it was when the run was created; null: nobody.
alter table credit_holds add column author_id uuid, add column author_share smallint;
