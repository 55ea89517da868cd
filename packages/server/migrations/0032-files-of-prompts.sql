-- promptd: compatible
-- Pictures that authors show of their prompts: files that do not expire with their runs. Older programs leave them alone.
alter table files drop constraint files_kind_check;
alter table files add constraint files_kind check (kind in ('input', 'output', 'sample')) not valid;
