-- promptd: compatible
-- The budget that a hold counts in, and the month of the hold; null: no key asked for the run.
alter table credit_holds add column budget_id uuid, add column budget_month date;
