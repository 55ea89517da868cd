import { providerOf } from "../providers/index.ts";
import type { Catalogue, CatalogueEntry } from "./catalogue.ts";

/** Whether runs of a model can be made now; the one answer for publishing, search, new runs, waiting runs and calls. */
export type Availability =
  | { readonly kind: "available"; readonly entry: CatalogueEntry }
  /** Its provider is not configured: new runs are accepted, since another process or a restart may enable it. */
  | { readonly kind: "disabled"; readonly entry: CatalogueEntry }
  | { readonly kind: "retired"; readonly entry: CatalogueEntry; readonly successor: string | null }
  /** It never was in the catalogue, or left it: its price is not known. */
  | { readonly kind: "unknown" };

export function availability(catalogue: Pick<Catalogue, "find" | "isEnabled">, model: string): Availability {
  const entry = catalogue.find(model);
  if (entry === null) return { kind: "unknown" };
  if (entry.status === "retired") return { kind: "retired", entry, successor: entry.successor ?? null };
  return { kind: catalogue.isEnabled(model) ? "available" : "disabled", entry };
}

/** Why a model cannot be used, as one sentence. */
export function unavailableSentence(model: string, found: Exclude<Availability, { kind: "available" }>): string {
  switch (found.kind) {
    case "disabled":
      return `The model ${model} is not enabled on this server.`;
    case "retired":
      return `The model ${model} is retired.${found.successor === null ? "" : ` Its successor is ${found.successor}.`}`;
    case "unknown":
      return `There is no model "${model}" on this server.`;
    default:
      return found satisfies never;
  }
}

/** Whether answers come from the sandbox, which shows the prompt in them. */
export function isSimulated(entry: Pick<CatalogueEntry, "provider">): boolean {
  return providerOf(entry.provider).isSimulated;
}
