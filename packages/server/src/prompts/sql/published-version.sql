-- A run names a prompt version, and is priced, executed and explained by it for ever. So a published version never changes.
create or replace function published_version_is_final() returns trigger language plpgsql as $$
begin
  raise exception 'a published prompt version does not change' using errcode = 'PD901';
end $$;
