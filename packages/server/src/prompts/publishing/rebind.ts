/**
 * Keeps the roles of published prompts up to date. When the operator sets a key, or the model behind a role is retired,
 * its prompts get a new version with the model that the role means now. Older versions keep their model.
 */
import { isDeepStrictEqual } from "node:util";
import type { Catalogue } from "../../models/index.ts";
import type { Database, Tx } from "../../platform/database/database.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import { rebindDefinition } from "../checks/bind-roles.ts";
import { publishVersions, type VersionContent } from "./publish.ts";
import { lockPublishing } from "./publish-store.ts";
import {
  listRoleBindings,
  listRolePrompts,
  saveEnabledOfRoles,
  writeRoleLists,
  type RoleBinding,
  type RolePrompt,
} from "./rebind-store.ts";

export interface RebindOptions {
  readonly catalogue: Catalogue;
  readonly newId: () => string;
  /** Email address of the account whose prompt texts are public; absent: all texts are secret. */
  readonly publicAuthor?: string;
}

const BATCH_MAX = 100;
const BULK = { statementTimeoutMs: 0 };

/**
 * Stores which models each role may mean, for all processes: the process that started last decides. If each process
 * used its own files, two of different releases would keep publishing against each other.
 */
export async function announceRoles(db: Database, { roles }: Pick<Catalogue, "roles">): Promise<void> {
  // Take no lock if nothing changes: a process that froze while holding it would keep all others from starting.
  if (listsAre(roles, await listRoleBindings(db))) return;
  await db.tx((tx) => writeRoleLists(tx, roles));
}

/**
 * Reads the prompts only when a role's enabled models have changed, which one small query shows. After an interruption,
 * the next call starts over: prompts that are bound already get no second version.
 * @returns how many prompts got a new version; also 0 when another process decides what roles may mean.
 */
export async function rebindRoles(db: Database, options: RebindOptions, stop?: AbortSignal): Promise<number> {
  const { catalogue } = options;
  const bindings = await listRoleBindings(db);
  if (bindings.length === 0) await announceRoles(db, catalogue);
  else if (!listsAre(catalogue.roles, bindings)) return 0;
  const now = enabledModels(catalogue);
  const before = Object.fromEntries(bindings.map(({ role, enabled }) => [role, enabled]));
  if (isDeepStrictEqual(before, now)) return 0;
  let published = 0;
  for (let after = FIRST_ID; ;) {
    stop?.throwIfAborted();
    const batch = await db.tx((tx) => rebindBatch(tx, after, options), BULK);
    published += batch.published;
    if (batch.last === null) break;
    after = batch.last;
  }
  await saveEnabledOfRoles(db, now);
  return published;
}

function listsAre(roles: Catalogue["roles"], bindings: readonly RoleBinding[]): boolean {
  return isDeepStrictEqual(roles, Object.fromEntries(bindings.map(({ role, models }) => [role, models])));
}

/** The enabled models of every role, which the bindings depend on. */
function enabledModels(catalogue: Catalogue): Record<string, readonly string[]> {
  const isEnabled = (model: string): boolean => catalogue.isEnabled(model);
  return Object.fromEntries(Object.entries(catalogue.roles).map(([role, models]) => [role, models.filter(isEnabled)]));
}

async function rebindBatch(
  tx: Tx,
  after: string,
  options: RebindOptions,
): Promise<{ published: number; last: string | null }> {
  await lockPublishing(tx);
  const prompts = await listRolePrompts(tx, { after, limit: BATCH_MAX, publicAuthor: options.publicAuthor ?? null });
  const changed = prompts.flatMap((prompt) => rebind(prompt, options.catalogue));
  await publishVersions(tx, changed, options);
  return { published: changed.length, last: prompts.at(-1)?.promptId ?? null };
}

function rebind({ isTextPublic, ...prompt }: RolePrompt, catalogue: Catalogue): VersionContent[] {
  const definition = rebindDefinition(prompt.definition, { catalogue, isTextPublic });
  const model = definition?.steps.at(-1)?.model;
  return definition === null || model === undefined ? [] : [{ ...prompt, definition, model, isNew: false }];
}
