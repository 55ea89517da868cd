-- Creates a run, holds its credits and takes its idempotency key in one transaction and one round trip.
-- Outcomes: created; claimed (created, and p_worker, which may be null, has it already, as its first attempt: a repeat is
-- never told so, since that worker may have claimed it meanwhile); joined (p_key has made a run before: this is it);
-- key_conflict; not_found; not_allowed (the API key may not run this prompt); capped (the run does not fit into what is left of the API key's monthly cap, `available`;
-- the next month begins `at`); no_credits; frozen (the account is); too_many_active (the account has p_max_active runs);
-- revoked, expired (the API key p_api_key is no longer valid since `at`; null: the caller has no API key). What a key may
-- do is read here, whatever its admission has seen. After a refusal nothing of the run is written, so several may be called in
-- one statement.
create or replace function run_create_claiming(
  p_account uuid, p_id uuid, p_created timestamptz, p_version uuid, p_name text, p_model text, p_hold bigint,
  p_prices json, p_inputs json, p_options json, p_deadline interval, p_max_active int, p_key text, p_fingerprint bytea,
  p_api_key uuid, p_request uuid, p_worker uuid, p_lane int, p_lease interval
) returns table (outcome text, run_id uuid, available bigint, at timestamptz) language plpgsql set lock_timeout = 200 as $$
declare
  v_fingerprint bytea; v_run uuid; v_is_full boolean; v_is_short boolean; v_prompt uuid; v_left bigint;
  v_api_key record; v_is_claimed boolean;
  v_month date := date_trunc('month', promptd_now() at time zone 'UTC');
begin
  -- Creates of an account run one after the other, so that each sees every earlier run, its key, and what is left. The
  -- lock of the balance is not enough: a free run does not take it. A second call after a lost answer waits here, too,
  -- until the first one has ended, however slow its commit is. Each statement below has a snapshot of its own, taken after.
  perform pg_advisory_xact_lock(18019, hashtext(p_account::text));
  if exists (select 1 from runs r where r.account_id = p_account and r.id = p_id) then
    return query select 'created', p_id, null::bigint, null::timestamptz;
    return;
  end if;
  select k.revoked_at, k.expires_at, k.monthly_cap, coalesce(k.budget_id, k.id) as budget_id, k.prompt_ids
    into v_api_key
    from api_keys k where k.id = p_api_key;
  if v_api_key.revoked_at is not null then
    return query select 'revoked', null::uuid, null::bigint, v_api_key.revoked_at;
    return;
  end if;
  if v_api_key.expires_at <= promptd_now() then
    return query select 'expired', null::uuid, null::bigint, v_api_key.expires_at;
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
  select p.id into v_prompt from prompt_versions v join prompts p on p.id = v.prompt_id
    where v.id = p_version and (v.published_at is not null and p.unpublished_at is null
      or v.published_at is null and p.author_id = p_account); -- a test run of a draft
  if not found then
    return query select 'not_found', null::uuid, null::bigint, null::timestamptz;
    return;
  end if;
  if v_prompt <> all (v_api_key.prompt_ids) then
    return query select 'not_allowed', null::uuid, null::bigint, null::timestamptz;
    return;
  end if;
  if p_hold is not null and v_api_key.monthly_cap is not null then
    v_left := credit_budget_left(p_account, v_api_key.budget_id, v_month, v_api_key.monthly_cap);
    if p_hold > v_left then
      return query select 'capped', null::uuid, greatest(0, v_left), (v_month + interval '1 month') at time zone 'UTC';
      return;
    end if;
  end if;
  select count(*) >= p_max_active into v_is_full from (
    select 1 from runs r where r.account_id = p_account and r.status in ('queued', 'running') limit p_max_active) active;
  if p_hold is not null then
    -- credits are spoken of first, and nothing may be held for a run that there is no place for
    v_is_short := case
      when v_is_full then p_hold > credits_available(p_account) or credit_is_frozen(p_account)
      else not credit_hold_for(p_account, p_id, p_hold, v_api_key.budget_id,
        case when v_api_key.budget_id is not null then v_month end,
        (p_prices #>> '{author,accountId}')::uuid, (p_prices #>> '{author,sharePercent}')::int) end;
    if v_is_short then
      return query select case when credit_is_frozen(p_account) then 'frozen' else 'no_credits' end, null::uuid,
        credits_available(p_account), null::timestamptz;
      return;
    end if;
  end if;
  if v_is_full then
    return query select 'too_many_active', null::uuid, null::bigint, null::timestamptz;
    return;
  end if;
  v_is_claimed := p_worker is not null and run_may_begin(p_worker, p_lane, p_lease, p_account, p_model);
  insert into runs (account_id, id, prompt_version_id, run_name, model, created_at, deadline_at, hold, credits,
      prices, inputs, run_options, api_key_id, request_id, status, attempt, worker, started_at)
    values (p_account, p_id, p_version, p_name, p_model, p_created, promptd_now() + p_deadline, p_hold,
      case when p_hold is null then null else 0 end, p_prices, p_inputs, p_options, p_api_key, p_request,
      case when v_is_claimed then 'running' else 'queued' end, v_is_claimed::int,
      case when v_is_claimed then p_worker end, case when v_is_claimed then promptd_now() end);
  if p_key is not null then
    insert into idempotency_keys as k (account_id, key, fingerprint, run_id, expires_at)
      values (p_account, p_key, p_fingerprint, p_id, promptd_now() + interval '24 h')
      on conflict (account_id, key) do update -- it has expired
        set fingerprint = excluded.fingerprint, run_id = excluded.run_id, expires_at = excluded.expires_at;
  end if;
  return query select case when v_is_claimed then 'claimed' else 'created' end, p_id, null::bigint, null::timestamptz;
end $$;
