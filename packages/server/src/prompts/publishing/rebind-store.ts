/** SQL for roles (migrations 0018 and 0028). */
import type { Queryable, Tx } from "../../platform/database/database.ts";
import { MODALITY_NAME } from "../prompts-store.ts";
import type { NewVersion } from "./publish-store.ts";

export interface RoleBinding {
  readonly role: string;
  /** Best first, from the process that started last. */
  readonly models: readonly string[];
  /** Models that were enabled when the role's prompts were last checked; null: never checked. */
  readonly enabled: readonly string[] | null;
}

export function listRoleBindings(db: Queryable): Promise<RoleBinding[]> {
  return db.query<RoleBinding>("select role, models, enabled from role_bindings", []);
}

/** Replaces all lists. Because of the lock, the later of two processes that start at once wins as a whole. */
export async function writeRoleLists(tx: Tx, lists: Readonly<Record<string, readonly string[]>>): Promise<void> {
  await tx.query("lock table role_bindings in share row exclusive mode");
  await tx.query("delete from role_bindings where role <> all ($1::text[])", [Object.keys(lists)]);
  await tx.query(
    `insert into role_bindings (role, models) select b.key, array(select json_array_elements_text(b.value))
     from json_each($1::json) b on conflict (role) do update set models = excluded.models`,
    [JSON.stringify(lists)],
  );
}

/** Skips roles that are no longer listed, since another process may have started meanwhile. */
export async function saveEnabledOfRoles(
  db: Queryable,
  enabled: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  await db.query(
    `update role_bindings r set enabled = array(select json_array_elements_text(b.value))
     from json_each($1::json) b where r.role = b.key`,
    [JSON.stringify(enabled)],
  );
}

export interface RolePrompt extends Pick<
  NewVersion,
  "promptId" | "title" | "description" | "tags" | "modality" | "definition" | "samples" | "text"
> {
  /** Its author is the one whose prompt texts are public. */
  readonly isTextPublic: boolean;
}

/**
 * Lists published prompts whose latest version names a role, by id. Definitions have no index, so this reads them all,
 * but only after a binding has changed.
 */
export function listRolePrompts(
  tx: Tx,
  {
    after,
    limit,
    publicAuthor,
  }: { readonly after: string; readonly limit: number; readonly publicAuthor: string | null },
): Promise<RolePrompt[]> {
  const text = `select p.id as "promptId", v.title, v.description, v.tags, ${MODALITY_NAME} as modality, v.definition, v.samples,
      v.source as text,
      exists (select 1 from accounts a where a.id = p.author_id and a.email = $3) as "isTextPublic"
    from prompts p join prompt_versions v on v.id = p.latest_version_id
    where p.id > $1 and p.unpublished_at is null and v.definition::text like '%"role":{"name":%'
    order by p.id limit $2`;
  return tx.query(text, [after, limit, publicAuthor]);
}
