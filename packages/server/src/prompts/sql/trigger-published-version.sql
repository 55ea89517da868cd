-- In a file of its own: making it locks its table, which a change of the function need not do.
create or replace trigger published_version_is_final
  before update of prompt_id, number, title, description, tags, model, modality, definition, config, samples, published_at
  on prompt_versions for each row when (old.published_at is not null) execute function published_version_is_final();
