-- promptd: compatible
-- More than the word in fail_reason, for operators alone: which host of an image could not be fetched, and why. Null: nothing.
alter table runs add column fail_detail text;
