/**
 * Roles: what a prompt may name instead of a model. Each role has a list of models, best first, and means the first one
 * that this installation has enabled. Its meaning changes with the operator's keys and when models end; a published
 * version always names models.
 */
import { listWords } from "@promptd/contract";
import type { ModelRecord } from "./catalogue-file.ts";

/** Role names and their models, best first; all models of a role have the same modality. */
export type Roles = Readonly<Record<string, readonly string[]>>;

/** Returns what is wrong with the roles in the files. */
export function checkRoles(roles: Roles, records: readonly ModelRecord[]): string[] {
  const byModel = new Map(records.map((record) => [record.model, record]));
  return Object.entries(roles).flatMap(([role, models]) => {
    const unknown = models.filter((model) => !byModel.has(model));
    const modalities = new Set(models.flatMap((model) => byModel.get(model)?.modality ?? []));
    return [
      ...(byModel.has(role) ? [`roles.${role}: a model already has this name.`] : []),
      ...(models.length === 0 ? [`roles.${role} has no models.`] : []),
      ...unknown.map((model) => `roles.${role}: there is no model "${model}".`),
      ...(modalities.size > 1
        ? [`roles.${role}: all models must have the same modality, but these have ${listWords(modalities, "and")}.`]
        : []),
    ];
  });
}

/** What a prompt needs from the model that a role means. */
export interface RoleNeeds {
  readonly images: number;
  readonly searchesWeb?: boolean;
  /** The answer must match a JSON schema. */
  readonly hasSchema?: boolean;
}

export function meetsNeeds({ inputs, webSearch }: ModelRecord, needs: RoleNeeds): boolean {
  const { images, searchesWeb = false, hasSchema = false } = needs;
  if ((inputs?.images?.max ?? 0) < images) return false;
  return !searchesWeb || (webSearch !== undefined && (!hasSchema || webSearch.withSchema === true));
}

/**
 * Returns the model that a role means for a prompt with these needs: the first enabled one, until the day it ends. If none
 * is enabled, it is the first that could be, so that publishing does not depend on keys.
 */
export function bindRole<Entry extends ModelRecord>(
  entries: readonly Entry[],
  needs: RoleNeeds,
  isEnabled: (model: string) => boolean,
): Entry | null {
  const usable = entries.filter(({ status }) => status !== "retired");
  const fitting = usable.filter((entry) => meetsNeeds(entry, needs));
  const candidates = fitting.length === 0 ? usable : fitting;
  return candidates.find(({ model }) => isEnabled(model)) ?? candidates[0] ?? null;
}
