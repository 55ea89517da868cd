/**
 * Roles: what a prompt may name in place of a model. Each has a list of models, best first, and means the first of them
 * that this installation has enabled. What it means changes with the keys of the operator and with the days on which
 * models end; a published version always names models.
 */
import type { ModelRecord } from "./catalogue-file.ts";

/** Names and their models, best first; of one modality each. */
export type Roles = Readonly<Record<string, readonly string[]>>;

/** What is wrong with the roles of the files. */
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
        ? [`roles.${role}: all models must have the same modality, but these have ${[...modalities].join(" and ")}.`]
        : []),
    ];
  });
}

/** What a prompt needs of the model that a role means. */
export interface RoleNeeds {
  readonly images: number;
  readonly searchesWeb?: boolean;
  /** The answer is held to a JSON schema. */
  readonly hasSchema?: boolean;
}

export function meetsNeeds({ inputs, webSearch }: ModelRecord, needs: RoleNeeds): boolean {
  const { images, searchesWeb = false, hasSchema = false } = needs;
  if ((inputs?.images?.max ?? 0) < images) return false;
  return !searchesWeb || (webSearch !== undefined && (!hasSchema || webSearch.withSchema === true));
}

/**
 * The model that a role means for a prompt with these needs: the first enabled one, until the day on which it ends.
 * Where none is enabled, the first that could be, so that publishing depends on no key.
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
