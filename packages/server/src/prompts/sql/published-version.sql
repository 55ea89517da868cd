-- A run names a prompt version, and is priced, executed and explained by it for ever. So a published version never changes.
create or replace function published_version_is_final() returns trigger language plpgsql as $$
begin
  raise exception 'a published prompt version does not change' using errcode = 'PD901';
end $$;

create or replace trigger published_version_is_final
  before update of prompt_id, number, title, description, tags, model, modality, definition, config, samples, published_at
  on prompt_versions for each row when (old.published_at is not null) execute function published_version_is_final();
