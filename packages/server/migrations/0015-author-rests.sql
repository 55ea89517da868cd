-- promptd: compatible
-- Hundredths of a credit that were collected and do not make a whole credit yet.
alter table credit_accounts add column earned_rest smallint not null default 0;
