-- Fails runs past their deadline, and runs on their last attempt whose worker died. Waits for no lock. `skipped` are
-- due runs that did not become final, because their row or their credits are locked or because they cannot be settled
-- (`fault` gives the reason for one of them). `is_full`: there may be more; call again, and pass the runs to leave out
-- in p_skipped.
create or replace function run_fail_due(p_skipped uuid[])
returns table (failed uuid[], skipped uuid[], is_full boolean, fault text) language plpgsql as $$
declare
  v_now timestamptz := promptd_now();
  v_dead uuid[]; v_due uuid[]; v_free uuid[];
  v_account uuid[]; v_id uuid[]; v_reason text[]; v_outputs json[];
begin
  failed := '{}';
  skipped := '{}';
  is_full := false;
  if not pg_try_advisory_xact_lock(18018, 1) then
    return next;
    return;
  end if;
  v_dead := run_lost_workers();
  with late as materialized ( -- two index scans; an OR here walked the whole backlog (measured 2026-11: 758 ms)
    select r.account_id, r.id from runs r
    where r.finished_at is null and r.deadline_at <= v_now and r.id <> all (p_skipped) order by r.deadline_at limit 100
  ), lost as materialized (
    select r.account_id, r.id from runs r
    where r.worker = any (v_dead) and r.attempt >= r.max_attempts and r.deadline_at > v_now and r.id <> all (p_skipped)
    limit 100
  ), due as (
    select late.*, 'deadline' as reason from late union all select lost.*, 'worker_lost' from lost
  ), mine as materialized (
    select r.account_id, r.id, due.reason, r.created_at, r.deadline_at
    from due join runs r on r.account_id = due.account_id and r.id = due.id
    where r.finished_at is null and (due.reason = 'deadline' or r.worker = any (v_dead))
    order by r.account_id, r.id for update of r skip locked
  )
  select (select coalesce(array_agg(due.id), '{}') from due),
      100 in ((select count(*) from late), (select count(*) from lost)),
      array_agg(m.account_id), coalesce(array_agg(m.id), '{}'), array_agg(m.reason),
      array_agg(json_build_array(json_build_object('type', 'error', 'data', case
        when m.reason = 'worker_lost' then 'The run could not be completed. You were not charged.'
        when m.deadline_at < m.created_at + interval '1 min' -- rescheduled by run_reschedule
          then 'The run did not finish in time and was stopped. You were not charged.'
        else format('The run did not finish within %s minutes and was stopped. You were not charged.',
          round(extract(epoch from m.deadline_at - m.created_at) / 60)) end)))
    into v_due, is_full, v_account, v_id, v_reason, v_outputs from mine m;
  select array_agg(free) into v_free from credit_try_lock(v_account, v_id) free;
  select array_agg(m.account_id), coalesce(array_agg(m.id), '{}'), array_agg(m.reason), array_agg(m.outputs)
    into v_account, v_id, v_reason, v_outputs
    from unnest(v_account, v_id, v_reason, v_outputs) m (account_id, id, reason, outputs) where m.id = any (v_free);
  begin
    select coalesce(array_agg(s), '{}') into failed
      from run_settle(v_account, v_id, array_fill(false, array[cardinality(v_id)]),
        array_fill(0::bigint, array[cardinality(v_id)]), v_outputs, v_reason) s;
  exception when others then -- one of them cannot be settled: each alone, so that it blocks none of the others
    for i in 1 .. cardinality(v_id) loop
      begin
        perform run_settle(array[v_account[i]], array[v_id[i]], array[false], array[0::bigint], array[v_outputs[i]],
          array[v_reason[i]]);
        failed := failed || v_id[i];
      exception when others then
        fault := format('run %s: %s', v_id[i], sqlerrm);
      end;
    end loop;
  end;
  skipped := array(select unnest(v_due) except select unnest(failed));
  return next;
end $$;
