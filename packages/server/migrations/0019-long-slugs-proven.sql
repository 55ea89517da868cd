-- promptd: compatible
alter table prompts validate constraint prompts_own_slug_check;
