-- promptd: compatible, concurrent
-- Jobs whose end is not known, which are looked for every two seconds: without the ended ones, which are many.
create index concurrently provider_calls_open on provider_calls (sent_at) where operation is not null and ended_at is null;
