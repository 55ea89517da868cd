import { providerOf } from "../providers/all-providers.ts";
import type { Catalogue, CatalogueEntry } from "./catalogue.ts";

interface Existing<Kind> {
  readonly kind: Kind;
  readonly entry: CatalogueEntry;
  /** Sentences that say when the model ends and what its successor is; null: no end is known. */
  readonly ends: string | null;
}

/** Whether runs of a model are possible now: the one decision for publishing, search, new runs, waiting runs, and calls. */
export type Availability =
  | Existing<"available">
  /** Its provider is not configured: new runs are accepted, since another process or a restart may enable it. */
  | Existing<"disabled">
  | { readonly kind: "retired"; readonly entry: CatalogueEntry; readonly successor: string | null }
  /** It was never in the catalogue, or was removed: its price is unknown. */
  | { readonly kind: "unknown" };

export function availability(catalogue: Pick<Catalogue, "find" | "isEnabled">, model: string): Availability {
  const entry = catalogue.find(model);
  if (entry === null) return { kind: "unknown" };
  // The catalogue retires an entry automatically on the day that its provider announced.
  if (entry.status === "retired") return { kind: "retired", entry, successor: entry.successor ?? null };
  return { kind: catalogue.isEnabled(model) ? "available" : "disabled", entry, ends: endSentence(entry) };
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

function endSentence({ model, status, retiresAt, successor }: CatalogueEntry): string | null {
  if (status !== "deprecated") return null;
  const end = retiresAt === undefined ? "is deprecated" : `ends on ${retiresAt}`;
  const after = retiresAt === undefined ? "" : " Runs of its prompts are refused from that day on.";
  return `The model ${model} ${end}.${after}${successor === undefined ? "" : ` Its successor is ${successor}.`}`;
}

/** Whether answers come from the sandbox, which shows the prompt in them. */
/** The sandbox's texts repeat the prompt, so callers who see them know its text. */
export function showsPrompt(entry: Pick<CatalogueEntry, "provider" | "modality">): boolean {
  return entry.modality === "text" && isSimulated(entry);
}

export function isSimulated(entry: Pick<CatalogueEntry, "provider">): boolean {
  return providerOf(entry.provider).isSimulated;
}
