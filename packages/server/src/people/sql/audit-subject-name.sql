-- The display name of whatever has this ID in the audit log. Null: nothing has the ID any longer, or it has no name. A
-- run is searched for by its key among the runs of the account that acted.
create or replace function audited_name(p_id uuid, p_account uuid) returns text language sql stable as $$
  select coalesce(
    (select u.email from auth_users u where u.id = p_id),
    (select a.email from accounts a where a.id = p_id),
    (select v.title from prompts p join prompt_versions v on v.id = p.latest_version_id where p.id = p_id),
    (select d.title from prompt_drafts d where d.prompt_id = p_id),
    (select k.name from api_keys k where k.id = p_id),
    (select t.name from management_tokens t where t.id = p_id),
    (select i.email from invitations i where i.id = p_id),
    (select w.url from webhooks w where w.id = p_id),
    (select k.name from auth_passkeys k where k.id = p_id),
    (select r.run_name from runs r where r.account_id = p_account and r.id = p_id))
$$;

-- The subject list of an audit log row, with names in place of IDs. Null: nothing in it has a name.
create or replace function audit_subject_name(p_subject text, p_account uuid) returns text language sql stable as $$
  select string_agg(coalesce(named.name, named.text), ', ' order by named.place)
  from (
    select part.text, part.place, case
      when part.text ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then audited_name(part.text::uuid, p_account) end as name
    from string_to_table(p_subject, ', ') with ordinality as part(text, place)) named
  having bool_or(named.name is not null)
$$;

-- IDs of everything whose current name contains a text: the reverse lookup. Names of runs are not worth a search.
create or replace function audit_subjects_named(p_text text) returns setof text language sql stable as $$
  select u.id::text from auth_users u where position(lower(p_text) in u.email) > 0
  union all select a.id::text from accounts a where position(lower(p_text) in lower(a.email)) > 0
  union all select p.id::text from prompts p join prompt_versions v on v.id = p.latest_version_id
    where position(lower(p_text) in lower(v.title)) > 0
  union all select d.prompt_id::text from prompt_drafts d where position(lower(p_text) in lower(d.title)) > 0
  union all select k.id::text from api_keys k where position(lower(p_text) in lower(k.name)) > 0
  union all select t.id::text from management_tokens t where position(lower(p_text) in lower(t.name)) > 0
  union all select i.id::text from invitations i where position(lower(p_text) in i.email) > 0
  union all select w.id::text from webhooks w where position(lower(p_text) in lower(w.url)) > 0
$$;
