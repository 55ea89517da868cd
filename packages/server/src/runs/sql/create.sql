-- Creates a run, holds its credits and takes its idempotency key in one transaction and one round trip.
-- Outcomes: created; joined (p_key has made a run before: this is it); key_conflict; not_found; no_credits; frozen (the
-- account is); revoked (the API key p_api_key was revoked after its admission; null: the caller has no API key).
-- Raises PD409 when another call took p_key meanwhile: everything is undone, call once more. Raises PD429 when the
-- account has too many active runs.
create or replace function run_create(
  p_account uuid, p_id uuid, p_created timestamptz, p_version uuid, p_name text, p_model text, p_hold bigint,
  p_prices json, p_inputs json, p_options json, p_deadline interval, p_max_active int, p_key text, p_fingerprint bytea,
  p_api_key uuid
) returns table (outcome text, run_id uuid, available bigint, revoked_at timestamptz) language plpgsql as $$
declare
  v_fingerprint bytea; v_run uuid; v_active int; v_revoked timestamptz;
begin
  -- A second call after a lost answer waits here until the first one has ended, however slow its commit is. Only then
  -- does the next statement, which has its own snapshot, show whether the run exists.
  perform pg_advisory_xact_lock(hashtextextended(p_id::text, 0));
  if exists (select 1 from runs r where r.account_id = p_account and r.id = p_id) then
    return query select 'created', p_id, null::bigint, null::timestamptz;
    return;
  end if;
  select a.revoked_at into v_revoked from api_keys a where a.id = p_api_key;
  if v_revoked is not null then
    return query select 'revoked', null::uuid, null::bigint, v_revoked;
    return;
  end if;
  if p_key is not null then
    select k.fingerprint, k.run_id into v_fingerprint, v_run from idempotency_keys k
      where k.account_id = p_account and k.key = p_key and k.expires_at > promptd_now();
    if found then
      return query select case when v_fingerprint = p_fingerprint then 'joined' else 'key_conflict' end, v_run,
        null::bigint, null::timestamptz;
      return;
    end if;
  end if;
  if not exists (select 1 from prompt_versions v join prompts p on p.id = v.prompt_id
      where v.id = p_version and v.published_at is not null and p.unpublished_at is null) then
    return query select 'not_found', null::uuid, null::bigint, null::timestamptz;
    return;
  end if;
  -- Creates of an account run one after the other, so that the count below sees every earlier run. The lock of the
  -- balance is not enough: a free run does not take it.
  perform pg_advisory_xact_lock(18019, hashtext(p_account::text));
  if p_hold is not null and not credit_hold(p_account, p_id, p_hold) then
    return query select case when credit_is_frozen(p_account) then 'frozen' else 'no_credits' end, null::uuid,
      credits_available(p_account), null::timestamptz;
    return;
  end if;
  select count(*) into v_active from (
    select 1 from runs r where r.account_id = p_account and r.status in ('queued', 'running') limit p_max_active) active;
  if v_active >= p_max_active then
    raise exception 'too many active runs' using errcode = 'PD429';
  end if;
  insert into runs (account_id, id, prompt_version_id, run_name, model, created_at, deadline_at, hold, credits,
      prices, inputs, run_options)
    values (p_account, p_id, p_version, p_name, p_model, p_created, promptd_now() + p_deadline, p_hold,
      case when p_hold is null then null else 0 end, p_prices, p_inputs, p_options);
  if p_key is not null then
    insert into idempotency_keys as k (account_id, key, fingerprint, run_id, expires_at)
      values (p_account, p_key, p_fingerprint, p_id, promptd_now() + interval '24 h')
      on conflict (account_id, key) do update
        set fingerprint = excluded.fingerprint, run_id = excluded.run_id, expires_at = excluded.expires_at
        where k.expires_at <= promptd_now();
    if not found then
      raise exception 'key taken meanwhile' using errcode = 'PD409';
    end if;
  end if;
  return query select 'created', p_id, null::bigint, null::timestamptz;
end $$;
