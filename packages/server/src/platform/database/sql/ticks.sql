-- Returns the ticks in p_names that are due and that the caller may now run, once per interval in the whole
-- installation. A tick scheduled further ahead than its interval was set by a clock that was ahead, so it is due. A
-- tick that another process is claiming right now is skipped: nobody waits, and two processes that claim several ticks
-- never deadlock.
create or replace function ticks_claim(p_names text[]) returns setof text language sql as $$
  update cron_ticks set next_at = promptd_now() + every
  where name in (
    select name from cron_ticks
    where name = any (p_names) and (next_at <= promptd_now() or next_at > promptd_now() + every)
    for update skip locked)
  returning name
$$;
