/** SQL of roles (migration 0018). */
import type { Modality, PromptSamples } from "@promptd/contract";
import type { Queryable, Tx } from "../../platform/database/database.ts";
import { MODALITY_NAMES } from "../prompts-store.ts";
import type { PromptDefinition } from "../prompt-definition.ts";

/** Role -> its enabled models when its prompts were last looked at. */
export async function listRoleBindings(db: Queryable): Promise<Record<string, readonly string[]>> {
  const text = 'select role, models from role_bindings order by role collate "C"';
  const rows = await db.query<{ role: string; models: string[] }>(text, []);
  return Object.fromEntries(rows.map(({ role, models }) => [role, models]));
}

export async function saveRoleBindings(tx: Tx, bindings: Readonly<Record<string, readonly string[]>>): Promise<void> {
  await tx.query("delete from role_bindings where role <> all ($1::text[])", [Object.keys(bindings)]);
  await tx.query(
    `insert into role_bindings (role, models) select b.key, array(select json_array_elements_text(b.value))
     from json_each($1::json) b on conflict (role) do update set models = excluded.models, changed_at = promptd_now()`,
    [JSON.stringify(bindings)],
  );
}

export interface RolePrompt {
  readonly promptId: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly modality: Modality;
  readonly definition: PromptDefinition;
  readonly samples: PromptSamples;
}

interface RolePromptRow extends Omit<RolePrompt, "modality"> {
  readonly modality: number;
}

/**
 * Published prompts whose latest version names a role, by id. Definitions have no index: this reads them all, which is
 * done when a binding changed and not otherwise.
 */
export async function listRolePrompts(tx: Tx, after: string, limit: number): Promise<RolePrompt[]> {
  const text = `select p.id as "promptId", v.title, v.description, v.tags, v.modality, v.definition, v.samples
    from prompts p join prompt_versions v on v.id = p.latest_version_id
    where p.id > $1 and p.unpublished_at is null and v.definition::text like '%"role":{"name":%'
    order by p.id limit $2`;
  const rows = await tx.query<RolePromptRow>(text, [after, limit]);
  return rows.map((row) => ({ ...row, modality: MODALITY_NAMES[row.modality] ?? "text" }));
}
