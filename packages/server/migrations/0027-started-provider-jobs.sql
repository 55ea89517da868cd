-- promptd: compatible
drop index provider_calls_started;
