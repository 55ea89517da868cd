-- Records what run_create_on_terms holds for the runs at these positions. Internal.
create or replace function run_holds_record(
  p_places int[], p_budget uuid[], p_posted_after bigint[], p_held_after bigint[], p_month date,
  p_account uuid[], p_id uuid[], p_hold bigint[], p_prices json[]
) returns void language plpgsql as $$
begin
  perform credit_holds_record(array_agg(p_account[n] order by nth), array_agg(p_id[n] order by nth),
    array_agg(p_hold[n] order by nth), p_budget, p_month,
    array_agg((p_prices[n] #>> '{author,accountId}')::uuid order by nth),
    array_agg((p_prices[n] #>> '{author,sharePercent}')::int order by nth), p_posted_after, p_held_after)
  from unnest(p_places) with ordinality h (n, nth);
end $$;

-- Creates runs, holds their credits, and takes their idempotency keys in one transaction and one round trip. Each run
-- is judged as if it came alone, after the ones before it. Runs of several accounts must be ordered by account id,
-- because each account is locked.
-- Outcomes: created; claimed (created, and p_worker, which may be null, already has it as its first attempt; a repeat
-- never gets this outcome, because that worker may have claimed the run meanwhile); joined (the key already made a run:
-- this one); key_conflict; not_found; other_terms (the share of the prompt's author is no longer p_author_share, on
-- which hold and prices are based; -1: the installation's share, null: any); not_allowed (the API key may not run this
-- prompt); capped (the run does not fit into the rest of the API key's monthly cap, `available`; the next month begins
-- `at`); no_credits; frozen (the account is frozen); too_many_active (the account has p_max_active runs); revoked,
-- expired (the API key is no longer valid since `at`; null: the caller has no API key). What a key may do is read here,
-- whatever its admission has seen. After a refusal, nothing of the run is written.
-- For a claimed run with a p_call_model, the first call is counted here too, because its worker makes it at once.
-- Runs, holds, and calls are inserted together at the end: starting an insert, with its table's checks, costs several
-- times as much as a row. So each decision about a run also counts the runs before it, in addition to what is stored. A
-- single plan serves every statement: each row is found by its key.
create or replace function run_create_on_terms(
  p_account uuid[], p_id uuid[], p_created_ms bigint[], p_version uuid[], p_name text[], p_model text[], p_hold bigint[],
  p_prices json[], p_inputs json[], p_options json[], p_deadline_seconds int[], p_max_active int[], p_key text[],
  p_fingerprint bytea[], p_api_key uuid[], p_request uuid[], p_worker uuid, p_lane int, p_lease interval, p_claims_max int,
  p_call_model text[], p_call_provider text[], p_call_provider_model text[], p_author_share int[]
) returns table (outcome text, run_id uuid, available bigint, at timestamptz)
language plpgsql set lock_timeout = 200 set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_account uuid; v_is_full boolean; v_is_short boolean; v_version uuid; v_prompt record; v_left bigint;
  v_api_key record; v_earlier record; v_balance record; v_is_claimed boolean;
  v_may_claim boolean; -- null: nobody has asked yet
  v_account_room int; v_model text; v_model_room int;
  v_month date := date_trunc('month', promptd_now() at time zone 'UTC');
  -- the runs created here, by their positions in the arrays, and which of them are claimed
  v_made int[] := '{}'; v_made_of uuid[] := '{}'; v_claimed boolean[] := '{}'; v_claimed_models text[] := '{}';
  v_called int[] := '{}'; -- runs whose first call is counted
  -- what is held here but not recorded yet
  v_held int[] := '{}'; v_budgets uuid[] := '{}'; v_posted_after bigint[] := '{}'; v_held_after bigint[] := '{}';
begin
  for i in 1 .. cardinality(p_id) loop
    outcome := null; run_id := null; available := null; at := null;
    if v_account is distinct from p_account[i] then
      v_account := p_account[i];
      v_account_room := null;
      -- Creates of an account run one after another, so that each one sees every earlier run, its key, and the
      -- remaining credits. Locking the balance is not enough: a free run does not lock it. A second call after a lost
      -- response also waits here until the first one has ended, however slow its commit is. Each statement below has
      -- its own snapshot, taken after the lock.
      perform pg_advisory_xact_lock(18019, hashtext(v_account::text));
    end if;
    if exists (select 1 from runs r where r.account_id = v_account and r.id = p_id[i]) then
      outcome := 'created'; run_id := p_id[i]; return next; continue;
    end if;
    select k.revoked_at, k.expires_at, k.monthly_cap, coalesce(k.budget_id, k.id) as budget_id, k.prompt_ids
      into v_api_key
      from api_keys k where k.id = p_api_key[i];
    if v_api_key.revoked_at is not null then
      outcome := 'revoked'; at := v_api_key.revoked_at; return next; continue;
    end if;
    if v_api_key.expires_at <= promptd_now() then
      outcome := 'expired'; at := v_api_key.expires_at; return next; continue;
    end if;
    if p_key[i] is not null then
      select k.fingerprint, k.run_id into v_earlier from idempotency_keys k
        where k.account_id = v_account and k.key = p_key[i] and k.expires_at > promptd_now();
      if found then
        outcome := case when v_earlier.fingerprint = p_fingerprint[i] then 'joined' else 'key_conflict' end;
        run_id := v_earlier.run_id; return next; continue;
      end if;
    end if;
    if v_version is distinct from p_version[i] then -- runs that come together are mostly of one prompt
      v_version := p_version[i];
      select p.id, p.author_share, case when v.published_at is null then p.author_id end as tester into v_prompt
        from prompt_versions v join prompts p on p.id = v.prompt_id
        where v.id = v_version and (v.published_at is null or p.unpublished_at is null);
    end if;
    if v_prompt.id is null or v_prompt.tester <> v_account then -- a draft is run by its author alone, as a test
      outcome := 'not_found'; return next; continue;
    end if;
    if coalesce(v_prompt.author_share, -1) <> p_author_share[i] then
      outcome := 'other_terms'; return next; continue;
    end if;
    if v_prompt.id <> all (v_api_key.prompt_ids) then
      outcome := 'not_allowed'; return next; continue;
    end if;
    if p_hold[i] is not null and v_api_key.monthly_cap is not null then
      v_left := credit_budget_left(v_account, v_api_key.budget_id, v_month, v_api_key.monthly_cap)
        - (select coalesce(sum(p_hold[h.place]), 0) from unnest(v_held, v_budgets) h (place, budget)
          where h.budget = v_api_key.budget_id);
      if p_hold[i] > v_left then
        outcome := 'capped'; available := greatest(0, v_left);
        at := (v_month + interval '1 month') at time zone 'UTC'; return next; continue;
      end if;
    end if;
    select count(*) + cardinality(array_positions(v_made_of, v_account)) >= p_max_active[i] into v_is_full from (
      select 1 from runs r where r.account_id = v_account and r.status in ('queued', 'running') limit p_max_active[i]) active;
    if p_hold[i] is not null then
      -- report missing credits first; nothing may be held for a run that has no room
      if v_is_full then
        v_is_short := p_hold[i] > credits_available(v_account) or credit_is_frozen(v_account);
      else
        select q.posted, q.held into v_balance from credit_hold_quickly(v_account, p_hold[i]) q;
        if v_balance.posted is not null then
          v_is_short := false;
          v_held := v_held || i;
          v_budgets := v_budgets || v_api_key.budget_id;
          v_posted_after := v_posted_after || v_balance.posted;
          v_held_after := v_held_after || v_balance.held;
        else -- what expires or is collected now must meet all holds
          perform run_holds_record(v_held, v_budgets, v_posted_after, v_held_after, v_month, p_account, p_id, p_hold, p_prices);
          v_held := '{}'; v_budgets := '{}'; v_posted_after := '{}'; v_held_after := '{}';
          v_is_short := not credit_hold_for(v_account, p_id[i], p_hold[i], v_api_key.budget_id,
            case when v_api_key.budget_id is not null then v_month end,
            (p_prices[i] #>> '{author,accountId}')::uuid, (p_prices[i] #>> '{author,sharePercent}')::int);
        end if;
      end if;
      if v_is_short then
        outcome := case when credit_is_frozen(v_account) then 'frozen' else 'no_credits' end;
        available := credits_available(v_account); return next; continue;
      end if;
    end if;
    if v_is_full then
      outcome := 'too_many_active'; return next; continue;
    end if;
    v_is_claimed := false;
    if p_worker is not null and i <= p_claims_max then
      v_may_claim := coalesce(v_may_claim, run_may_claim(p_worker, p_lane, p_lease));
      if v_may_claim then
        v_account_room := coalesce(v_account_room, run_account_room(p_lane, v_account));
        if v_model is distinct from p_model[i] then
          v_model := p_model[i];
          v_model_room := run_model_room(p_lane, v_model) - cardinality(array_positions(v_claimed_models, v_model));
        end if;
        v_is_claimed := v_account_room > 0 and v_model_room > 0;
      end if;
      if v_is_claimed then
        v_account_room := v_account_room - 1;
        v_model_room := v_model_room - 1;
        v_claimed_models := v_claimed_models || v_model;
        if p_call_model[i] is not null then v_called := v_called || i; end if;
      end if;
    end if;
    if p_key[i] is not null then
      insert into idempotency_keys as k (account_id, key, fingerprint, run_id, expires_at)
        values (v_account, p_key[i], p_fingerprint[i], p_id[i], promptd_now() + interval '24 h')
        on conflict (account_id, key) do update -- it has expired
          set fingerprint = excluded.fingerprint, run_id = excluded.run_id, expires_at = excluded.expires_at;
    end if;
    v_made := v_made || i;
    v_made_of := v_made_of || v_account;
    v_claimed := v_claimed || v_is_claimed;
    outcome := case when v_is_claimed then 'claimed' else 'created' end;
    run_id := p_id[i];
    return next;
  end loop;
  if cardinality(v_held) > 0 then
    perform run_holds_record(v_held, v_budgets, v_posted_after, v_held_after, v_month, p_account, p_id, p_hold, p_prices);
  end if;
  if cardinality(v_made) > 0 then
    insert into runs (account_id, id, prompt_version_id, run_name, model, created_at, deadline_at, hold, credits,
        prices, inputs, run_options, api_key_id, request_id, status, attempt, worker, started_at)
      select p_account[n], p_id[n], p_version[n], p_name[n], p_model[n], to_timestamp(p_created_ms[n] / 1000.0),
        promptd_now() + make_interval(secs => p_deadline_seconds[n]), p_hold[n], case when p_hold[n] is not null then 0 end,
        p_prices[n], p_inputs[n], p_options[n], p_api_key[n], p_request[n],
        case when is_claimed then 'running' else 'queued' end, is_claimed::int,
        case when is_claimed then p_worker end, case when is_claimed then promptd_now() end
      from unnest(v_made, v_claimed) made (n, is_claimed);
  end if;
  if cardinality(v_called) > 0 then
    perform provider_calls_begin_first(v_called, p_id, p_account, p_call_model, p_call_provider, p_call_provider_model);
  end if;
end $$;

-- The same for programs that read the terms before each create, while they run beside this one or replace it again.
create or replace function run_create_calling(
  p_account uuid[], p_id uuid[], p_created_ms bigint[], p_version uuid[], p_name text[], p_model text[], p_hold bigint[],
  p_prices json[], p_inputs json[], p_options json[], p_deadline_seconds int[], p_max_active int[], p_key text[],
  p_fingerprint bytea[], p_api_key uuid[], p_request uuid[], p_worker uuid, p_lane int, p_lease interval, p_claims_max int,
  p_call_model text[], p_call_provider text[], p_call_provider_model text[]
) returns table (outcome text, run_id uuid, available bigint, at timestamptz) language sql as $$
  select * from run_create_on_terms(p_account, p_id, p_created_ms, p_version, p_name, p_model, p_hold, p_prices, p_inputs,
    p_options, p_deadline_seconds, p_max_active, p_key, p_fingerprint, p_api_key, p_request, p_worker, p_lane, p_lease,
    p_claims_max, p_call_model, p_call_provider, p_call_provider_model, '{}')
$$;

-- The same for programs that count the first call afterwards.
create or replace function run_create_all(
  p_account uuid[], p_id uuid[], p_created_ms bigint[], p_version uuid[], p_name text[], p_model text[], p_hold bigint[],
  p_prices json[], p_inputs json[], p_options json[], p_deadline_seconds int[], p_max_active int[], p_key text[],
  p_fingerprint bytea[], p_api_key uuid[], p_request uuid[], p_worker uuid, p_lane int, p_lease interval, p_claims_max int
) returns table (outcome text, run_id uuid, available bigint, at timestamptz) language sql as $$
  select * from run_create_calling(p_account, p_id, p_created_ms, p_version, p_name, p_model, p_hold, p_prices, p_inputs,
    p_options, p_deadline_seconds, p_max_active, p_key, p_fingerprint, p_api_key, p_request, p_worker, p_lane, p_lease,
    p_claims_max, '{}', '{}', '{}')
$$;

-- The same for programs that do neither: one run.
create or replace function run_create_claiming(
  p_account uuid, p_id uuid, p_created timestamptz, p_version uuid, p_name text, p_model text, p_hold bigint,
  p_prices json, p_inputs json, p_options json, p_deadline interval, p_max_active int, p_key text, p_fingerprint bytea,
  p_api_key uuid, p_request uuid, p_worker uuid, p_lane int, p_lease interval
) returns table (outcome text, run_id uuid, available bigint, at timestamptz) language sql as $$
  select * from run_create_all(array[p_account], array[p_id], array[round(extract(epoch from p_created) * 1000)::bigint],
    array[p_version], array[p_name], array[p_model], array[p_hold], array[p_prices], array[p_inputs], array[p_options],
    array[extract(epoch from p_deadline)::int], array[p_max_active], array[p_key], array[p_fingerprint], array[p_api_key],
    array[p_request], p_worker, p_lane, p_lease, 1)
$$;
