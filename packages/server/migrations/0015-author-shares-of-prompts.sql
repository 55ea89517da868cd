-- promptd: compatible
-- The author's share of this prompt in percent, as an operator has set it; null: PROMPTD_AUTHOR_SHARE.
alter table prompts add column author_share smallint check (author_share between 0 and 100);
