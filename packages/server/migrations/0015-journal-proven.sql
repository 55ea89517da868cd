-- promptd: compatible
alter table credit_transfers validate constraint credit_transfers_kind_check;
