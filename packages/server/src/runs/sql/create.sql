-- Writes what run_create_on_terms holds for the runs at these positions. Internal.
create or replace function run_holds_write(
  p_places int[], p_budget uuid[], p_posted_after bigint[], p_held_after bigint[], p_month date,
  p_account uuid[], p_id uuid[], p_hold bigint[], p_prices json[]
) returns void language plpgsql as $$
begin
  if p_places = '{}' then return; end if;
  perform credit_hold_locked(array_agg(p_account[n] order by nth), array_agg(p_id[n] order by nth),
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
-- What is stored about all runs is read together once everything is locked; runs, holds, balances, and calls are written
-- together at the end: starting a statement costs several times as much as a row. So each decision about a run also
-- counts the runs before it, in addition to what is stored. A single plan serves every statement: each row is found by
-- its key.
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
  v record; -- a run by its position, and what is stored about it
  v_earlier record; v_is_claimed boolean; v_model text; v_model_room int;
  v_may_claim boolean := false;
  v_month date := date_trunc('month', promptd_now() at time zone 'UTC');
  -- of the account at hand: whether its holds need no more than its balance, what is held, and its active runs
  v_is_usual boolean; v_held_now bigint; v_active int; v_live int;
  -- the runs created here, by their positions in the arrays, and which of them are claimed
  v_made int[] := '{}'; v_claimed boolean[] := '{}'; v_claimed_models text[] := '{}';
  v_called int[] := '{}'; -- runs whose first call is counted
  -- what is held here but not written yet
  v_held int[] := '{}'; v_budgets uuid[] := '{}'; v_posted_after bigint[] := '{}'; v_held_after bigint[] := '{}';
begin
  -- Creates of an account run one after another, so that each one sees every earlier run, its key, and the remaining
  -- credits. Locking the balance is not enough: a free run does not lock it. A second call after a lost response also
  -- waits here until the first one has ended, however slow its commit is. Each statement below has its own snapshot,
  -- taken after these locks.
  foreach v_account in array p_account loop
    perform pg_advisory_xact_lock(18019, hashtext(v_account::text));
  end loop;
  v_account := null;
  if p_worker is not null and p_claims_max > 0 then
    v_may_claim := run_may_claim(p_worker, p_lane, p_lease);
  end if;
  for v in
    select d.i::int as i, d.account_id, d.id, there.is_there, k.revoked_at, k.expires_at, k.monthly_cap, k.budget_id, k.prompt_ids,
      active.runs, active.claimed, coalesce(allowed.running, 50) as max_running,
      balance.posted, balance.held, balance.posted is not null and balance.frozen_at is null and due.is_due is null as is_usual
    from unnest(p_account, p_id, p_api_key, p_hold, p_max_active) with ordinality d (account_id, id, api_key, hold, max_active, i)
    left join lateral (
      select true as is_there from runs r where r.account_id = d.account_id and r.id = d.id limit 1) there on true
    left join lateral (
      select k.revoked_at, k.expires_at, k.monthly_cap, coalesce(k.budget_id, k.id) as budget_id, k.prompt_ids
      from api_keys k where k.id = d.api_key limit 1) k on true
    cross join lateral ( -- once for each account
      select count(*)::int as runs, (count(r.worker) filter (where r.lane = p_lane))::int as claimed
      from (select r.worker, r.lane from runs r where r.account_id = d.account_id and r.status in ('queued', 'running')
        and d.account_id is distinct from p_account[d.i - 1] limit d.max_active) r) active
    left join lateral ( -- its own limit comes first
      select l.max_running as running from run_limits l where l.scope in ('account', 'account:' || d.account_id)
      order by l.scope desc limit 1) allowed on true
    left join lateral ( -- under this lock, nothing can expire unnoticed
      select a.posted, a.held, a.frozen_at from credit_accounts a
      where a.account_id = d.account_id and d.hold is not null for update) balance on true
    left join lateral (
      select true as is_due from credit_grants g
      where g.account_id = d.account_id and g.remaining > 0 and g.expires_at <= promptd_now() limit 1) due on true
    order by d.i
  loop
    outcome := null; run_id := null; available := null; at := null;
    if v_account is distinct from v.account_id then
      v_account := v.account_id;
      v_is_usual := v.is_usual; v_held_now := v.held; v_active := v.runs; v_live := v.claimed;
    end if;
    if v.is_there then
      outcome := 'created'; run_id := v.id; return next; continue;
    end if;
    if v.revoked_at is not null then
      outcome := 'revoked'; at := v.revoked_at; return next; continue;
    end if;
    if v.expires_at <= promptd_now() then
      outcome := 'expired'; at := v.expires_at; return next; continue;
    end if;
    if p_key[v.i] is not null then
      select k.fingerprint, k.run_id into v_earlier from idempotency_keys k
        where k.account_id = v_account and k.key = p_key[v.i] and k.expires_at > promptd_now();
      if found then
        outcome := case when v_earlier.fingerprint = p_fingerprint[v.i] then 'joined' else 'key_conflict' end;
        run_id := v_earlier.run_id; return next; continue;
      end if;
    end if;
    if v_version is distinct from p_version[v.i] then -- runs that come together are mostly of one prompt
      v_version := p_version[v.i];
      select p.id, p.author_share, case when v.published_at is null then p.author_id end as tester into v_prompt
        from prompt_versions v join prompts p on p.id = v.prompt_id
        where v.id = v_version and (v.published_at is null or p.unpublished_at is null);
    end if;
    if v_prompt.id is null or v_prompt.tester <> v_account then -- a draft is run by its author alone, as a test
      outcome := 'not_found'; return next; continue;
    end if;
    if coalesce(v_prompt.author_share, -1) <> p_author_share[v.i] then
      outcome := 'other_terms'; return next; continue;
    end if;
    if v_prompt.id <> all (v.prompt_ids) then
      outcome := 'not_allowed'; return next; continue;
    end if;
    if p_hold[v.i] is not null and v.monthly_cap is not null then
      v_left := credit_budget_left(v_account, v.budget_id, v_month, v.monthly_cap)
        - (select coalesce(sum(p_hold[h.place]), 0) from unnest(v_held, v_budgets) h (place, budget)
          where h.budget = v.budget_id);
      if p_hold[v.i] > v_left then
        outcome := 'capped'; available := greatest(0, v_left);
        at := (v_month + interval '1 month') at time zone 'UTC'; return next; continue;
      end if;
    end if;
    v_is_full := v_active >= p_max_active[v.i];
    if p_hold[v.i] is not null then
      v_is_short := false;
      if v_is_usual and not v_is_full and v.posted - v_held_now >= p_hold[v.i] then
        v_held_now := v_held_now + p_hold[v.i];
        v_held := v_held || v.i;
        v_budgets := v_budgets || v.budget_id;
        v_posted_after := v_posted_after || v.posted;
        v_held_after := v_held_after || v_held_now;
      else -- what expires or is collected now must meet all holds
        v_is_usual := false;
        perform run_holds_write(v_held, v_budgets, v_posted_after, v_held_after, v_month, p_account, p_id, p_hold, p_prices);
        v_held := '{}'; v_budgets := '{}'; v_posted_after := '{}'; v_held_after := '{}';
        if v_is_full then -- report missing credits first; nothing may be held for a run that has no room
          v_is_short := p_hold[v.i] > credits_available(v_account) or credit_is_frozen(v_account);
        else
          v_is_short := not credit_hold_for(v_account, v.id, p_hold[v.i], v.budget_id,
            case when v.budget_id is not null then v_month end,
            (p_prices[v.i] #>> '{author,accountId}')::uuid, (p_prices[v.i] #>> '{author,sharePercent}')::int);
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
    if v_may_claim and v.i <= p_claims_max then
      if v_model is distinct from p_model[v.i] then
        v_model := p_model[v.i];
        v_model_room := run_model_room(p_lane, v_model) - cardinality(array_positions(v_claimed_models, v_model));
      end if;
      v_is_claimed := v_live < v.max_running and v_model_room > 0;
    end if;
    if v_is_claimed then
      v_live := v_live + 1;
      v_model_room := v_model_room - 1;
      v_claimed_models := v_claimed_models || v_model;
      if p_call_model[v.i] is not null then v_called := v_called || v.i; end if;
    end if;
    if p_key[v.i] is not null then
      insert into idempotency_keys as k (account_id, key, fingerprint, run_id, expires_at)
        values (v_account, p_key[v.i], p_fingerprint[v.i], v.id, promptd_now() + interval '24 h')
        on conflict (account_id, key) do update -- it has expired
          set fingerprint = excluded.fingerprint, run_id = excluded.run_id, expires_at = excluded.expires_at;
    end if;
    v_active := v_active + 1;
    v_made := v_made || v.i;
    v_claimed := v_claimed || v_is_claimed;
    outcome := case when v_is_claimed then 'claimed' else 'created' end;
    run_id := v.id;
    return next;
  end loop;
  perform run_holds_write(v_held, v_budgets, v_posted_after, v_held_after, v_month, p_account, p_id, p_hold, p_prices);
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
