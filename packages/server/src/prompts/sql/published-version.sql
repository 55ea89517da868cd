-- A run refers to a prompt version, which determines its price, execution, and history. So a published version never
-- changes. A transaction that erases the content of a deleted account sets promptd.erases; no run needs its versions then.
create or replace function published_version_is_final() returns trigger language plpgsql as $$
begin
  if current_setting('promptd.erases', true) = 'on' then return new; end if;
  raise exception 'a published prompt version cannot be changed' using errcode = 'PD901';
end $$;
