-- Frozen accounts, which accept no new holds. Their existing holds are captured or released as usual.

create or replace function credit_is_frozen(p_account uuid) returns boolean language sql stable as $$
  select exists (select 1 from credit_accounts where account_id = p_account and frozen_at is not null)
$$;

-- Returns false if the account was already frozen; the first reason stays.
create or replace function credit_freeze(p_account uuid, p_reason text) returns boolean language plpgsql as $$
begin
  insert into credit_accounts as a (account_id, frozen_at) values (p_account, promptd_now())
    on conflict (account_id) do update set frozen_at = excluded.frozen_at where a.frozen_at is null;
  if not found then return false; end if;
  insert into credit_freezes (account_id, is_frozen, reason) values (p_account, true, p_reason);
  return true;
end $$;

-- Unfreezes an account whose ledger adds up. p_accept_journal accepts the faults in its journal chain so far.
-- Outcomes: unfrozen; not_frozen; faults (the audit still finds some, and the caller rolls back).
create or replace function credit_unfreeze(p_account uuid, p_reason text, p_accept_journal boolean) returns text
language plpgsql as $$
begin
  perform 1 from credit_accounts where account_id = p_account and frozen_at is not null for update;
  if not found then return 'not_frozen'; end if;
  if p_accept_journal then
    update credit_accounts
      set journal_accepted_to = (select coalesce(max(id), 0) from credit_transfers where account_id = p_account)
      where account_id = p_account;
  end if;
  if exists (select 1 from credit_audit where account_id = p_account) then return 'faults'; end if;
  update credit_accounts set frozen_at = null where account_id = p_account;
  insert into credit_freezes (account_id, is_frozen, reason) values (p_account, false, p_reason);
  return 'unfrozen';
end $$;
