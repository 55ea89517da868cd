-- The one clock for leases, limits, and expiries. A test replaces it in its own database with a clock that has an
-- offset. It is volatile, so it is never an index condition: copy it into a variable before a range scan. Column
-- defaults call it, so this file is applied before the tables.
create or replace function promptd_now() returns timestamptz language sql volatile as $$ select clock_timestamp() $$;
