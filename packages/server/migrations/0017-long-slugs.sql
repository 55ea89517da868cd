-- promptd: compatible
-- A looser check: slugs that authors write themselves may have 120 characters.
alter table prompts drop constraint prompts_own_slug_check;
alter table prompts add constraint prompts_own_slug_check check (own_slug ~ '^[a-z0-9-]{1,120}$') not valid;
