-- Returns a UUID v7 for rows that a function inserts: lists are ordered by id, and their cursors are ids. Within one
-- millisecond the order is random.
create or replace function promptd_new_id() returns uuid language sql volatile as $$
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
        placing substring(int8send(floor(extract(epoch from promptd_now()) * 1000)::bigint) from 3) from 1 for 6),
      52, 1), 53, 1),
    'hex')::uuid
$$;
