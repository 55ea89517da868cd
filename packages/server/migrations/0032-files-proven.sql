-- promptd: compatible
alter table files validate constraint files_kind;
