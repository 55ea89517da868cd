/**
 * Keeps the roles of published prompts up to date: when the operator sets a key, or the model that a role meant ends, its
 * prompts get a new version with the model that the role means now. Older versions go on naming theirs.
 */
import type { Catalogue } from "../../models/index.ts";
import type { Database, Tx } from "../../platform/database/database.ts";
import { rebindDefinition } from "./bind-roles.ts";
import { publishVersions, type VersionContent } from "./publish.ts";
import { lockPublishing } from "./publish-store.ts";
import { listRoleBindings, listRolePrompts, saveRoleBindings, type RolePrompt } from "./rebind-store.ts";

export interface RebindOptions {
  readonly catalogue: Catalogue;
  readonly newId: () => string;
}

const BATCH_MAX = 100;
const BULK = { statementTimeoutMs: 0 };
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/**
 * Looks at the prompts only when a role's enabled models have changed, which one small query tells. A run that was cut off
 * is repeated by the next one: what is bound already gets no second version.
 * @returns how many prompts got a new version.
 */
export async function rebindRoles(db: Database, options: RebindOptions, stop?: AbortSignal): Promise<number> {
  const now = enabledModels(options.catalogue);
  const before = await listRoleBindings(db);
  if (JSON.stringify(before) === JSON.stringify(now)) return 0;
  let published = 0;
  for (let after = FIRST_ID; ;) {
    stop?.throwIfAborted();
    const batch = await db.tx((tx) => rebindBatch(tx, after, options), BULK);
    published += batch.published;
    if (batch.last === null) break;
    after = batch.last;
  }
  await db.tx((tx) => saveRoleBindings(tx, now));
  return published;
}

/** The enabled models of every role: what the bindings depend on. */
function enabledModels(catalogue: Catalogue): Record<string, readonly string[]> {
  const isEnabled = (model: string): boolean => catalogue.isEnabled(model);
  const names = Object.keys(catalogue.roles).sort();
  return Object.fromEntries(names.map((role) => [role, (catalogue.roles[role] ?? []).filter(isEnabled)]));
}

async function rebindBatch(
  tx: Tx,
  after: string,
  options: RebindOptions,
): Promise<{ published: number; last: string | null }> {
  await lockPublishing(tx);
  const prompts = await listRolePrompts(tx, after, BATCH_MAX);
  const changed = prompts.flatMap((prompt) => rebind(prompt, options.catalogue));
  await publishVersions(tx, changed, { ...options, isDraft: false });
  return { published: changed.length, last: prompts.at(-1)?.promptId ?? null };
}

function rebind(prompt: RolePrompt, catalogue: Catalogue): VersionContent[] {
  const definition = rebindDefinition(prompt.definition, catalogue);
  const model = definition?.steps.at(-1)?.model;
  return definition === null || model === undefined ? [] : [{ ...prompt, definition, model, isNew: false }];
}
