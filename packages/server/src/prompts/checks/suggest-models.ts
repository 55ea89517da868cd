import { editDistance, listWords } from "@promptd/contract";
import type { Catalogue } from "../../models/index.ts";

const SUGGESTIONS_MAX = 3;

/**
 * Suggests, in sentences, what an author may have meant by a name that is not a model. It does not depend on which
 * models are enabled: the same file must get the same answer on every server of one version.
 */
export function suggestModels(typed: string, { entries, roles }: Pick<Catalogue, "entries" | "roles">): string {
  const name = typed.toLowerCase();
  const living = entries.filter(({ status }) => status !== "retired");
  const known = [...living.map(({ model }) => model), ...Object.keys(roles)];
  const same = living.filter(({ model, providerModel }) => lastPart(model) === name || providerModel === name);
  const slipsMax = Math.min(4, Math.ceil(name.length / 4));
  const near = known
    .map((model) => ({ model, distance: distanceOf(name, model, slipsMax) }))
    .filter(({ distance }) => distance <= slipsMax)
    .sort((a, b) => a.distance - b.distance)
    .map(({ model }) => model);
  const found = [...new Set([...same.map(({ model }) => model), ...near])].slice(0, SUGGESTIONS_MAX);
  const question = found.length === 0 ? "" : `Did you mean ${listWords(found, "or")}? `;
  const isOff = name.startsWith("sandbox/") && !known.some((model) => model.startsWith("sandbox/"));
  const off = isOff ? "The sandbox is off; set PROMPTD_SANDBOX=on to enable it. " : "";
  const lists =
    '"promptd models" lists the models that run here, and an operator can list all with "promptd admin models list"';
  return `${off}${question}${lists}; roles are ${listWords(Object.keys(roles), "and")}.`;
}

/** Authors often leave out the provider. Names differ by at least the difference of their lengths. */
function distanceOf(typed: string, model: string, slipsMax: number): number {
  const forms = [model, lastPart(model)].filter(({ length }) => Math.abs(length - typed.length) <= slipsMax);
  return Math.min(...forms.map((form) => editDistance(typed, form)));
}

function lastPart(model: string): string {
  return model.slice(model.lastIndexOf("/") + 1);
}
