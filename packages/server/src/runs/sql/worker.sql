-- The lease of a worker process.

-- Renews a worker's lease, and records the connection that the heartbeat uses: worker_boot_sweep uses it to recognize
-- dead workers. False: this worker was swept, and its runs belong to others now.
create or replace function worker_heartbeat(p_worker uuid) returns boolean language sql as $$
  with renewed as (
    update workers set heartbeat_at = promptd_now(), backend_pid = pg_backend_pid(),
      backend_start = (select s.backend_start from pg_stat_activity s where s.pid = pg_backend_pid())
    where id = p_worker returning 1
  )
  select exists (select 1 from renewed)
$$;

-- Embedded database only: one machine, one server. A worker whose heartbeat connection is gone is dead, so its runs
-- need not wait for the lease. Over a network, a connection may drop while its worker is alive.
create or replace function worker_boot_sweep(p_host text) returns setof uuid language sql as $$
  delete from workers w where w.host = p_host and not exists (
    select 1 from pg_stat_activity s where s.pid = w.backend_pid and s.backend_start = w.backend_start)
  returning w.id
$$;
