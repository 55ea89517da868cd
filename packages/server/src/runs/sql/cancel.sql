-- Cancels a run that is not final, immediately and permanently. Outcomes: not_found, finished, canceled_waiting,
-- canceled_running.
create or replace function run_cancel(p_account uuid, p_id uuid) returns text language plpgsql as $$
declare
  v_finished timestamptz; v_worker uuid;
begin
  select finished_at, worker into v_finished, v_worker from runs where account_id = p_account and id = p_id for update;
  if not found then return 'not_found'; end if;
  if v_finished is not null then return 'finished'; end if;
  perform run_settle(array[p_account], array[p_id], array[false], array[0::bigint],
    array['[{"type":"error","data":"Canceled by user."}]'::json], array['canceled']);
  return case when v_worker is null then 'canceled_waiting' else 'canceled_running' end;
end $$;
