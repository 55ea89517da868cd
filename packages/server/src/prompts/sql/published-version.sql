-- A run names a prompt version, and is priced, executed and explained by it for ever. So a published version never changes.
-- A transaction that removes what a deleted account has written says so by promptd.erases; no run needs its versions then.
create or replace function published_version_is_final() returns trigger language plpgsql as $$
begin
  if current_setting('promptd.erases', true) = 'on' then return new; end if;
  raise exception 'a published prompt version does not change' using errcode = 'PD901';
end $$;
