-- In its own file, because creating a trigger locks the table, which a change to the function need not do.
create or replace trigger published_version_is_final
  before update of prompt_id, number, title, description, tags, model, modality, definition, config, samples, published_at
  on prompt_versions for each row when (old.published_at is not null) execute function published_version_is_final();
