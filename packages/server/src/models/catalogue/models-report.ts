/** Reports about the catalogue for the operator's command line. */
import type { ManagedModel } from "@promptd/contract/manage";
import { loadCatalogue, type Catalogue, type CatalogueEntry, type CatalogueOptions } from "./catalogue.ts";
import { CatalogueError } from "./catalogue-file.ts";
import { RATE_NAMES } from "./option-mapping.ts";

/** `price`: such as `inputPer1k 0.175, outputPer1k 1.4`; `perImage 50-100` if it depends on the run's options. */
export interface ModelLine extends ManagedModel {
  readonly index: number;
  /** The most concurrent runs in the whole installation; `follows`: fewer when its server needs it. */
  readonly runsAtOnce: { readonly max: number; readonly follows: boolean };
  /** The environment variable that enables the model; null: none is needed. */
  readonly requires: string | null;
  readonly priceSource: string | null;
  readonly priceDate: string | null;
  /** No source was found for the price: the operator must confirm it. */
  readonly priceToConfirm: boolean;
}

/**
 * Lists every model of the catalogue and of found servers by number, enabled or not.
 * @param off models that an operator has switched off; this process may not have noticed yet.
 */
export function listModels(catalogue: Catalogue, off: ReadonlySet<string>): ModelLine[] {
  return [...catalogue.entries, ...catalogue.detected()]
    .sort((a, b) => a.index - b.index)
    .map((entry) => ({
      index: entry.index,
      model: entry.model,
      modality: entry.modality,
      provider: entry.provider,
      status: entry.status,
      retiresAt: entry.retiredAt ?? entry.retiresAt ?? null,
      successor: entry.successor ?? null,
      enabled: catalogue.isEnabled(entry.model) && !off.has(entry.model),
      isOff: off.has(entry.model),
      runsAtOnce: { max: entry.limits.concurrency, follows: entry.isPaced },
      requires: entry.requires ?? null,
      price: describePrice(entry),
      priceSource: entry.priceSource ?? null,
      priceDate: entry.priceDate ?? null,
      priceToConfirm: entry.priceToConfirm ?? false,
    }));
}

function describePrice(entry: CatalogueEntry): string {
  const options = Object.values(entry.runOptions).flatMap((option) => Object.values(option.values));
  const prices = [entry.price, ...[entry.defaults ?? {}, ...options].flatMap((mapping) => mapping.price ?? [])];
  const described = RATE_NAMES.flatMap((name) => {
    const rates = prices.flatMap((price) => price[name] ?? []).sort((a, b) => Number(a) - Number(b));
    const [least, most] = [rates[0], rates.at(-1)];
    if (least === undefined) return [];
    return [`${name} ${least === most ? least : `${least}-${most}`}`];
  });
  return [...described, ...describeSearch(entry)].join(", ");
}

function describeSearch({ webSearch }: CatalogueEntry): string[] {
  if (webSearch === undefined) return [];
  const { pricePerSearch, per = "search", priceToConfirm } = webSearch;
  const confirm = priceToConfirm === true ? " (operator must confirm)" : "";
  return [`webSearch ${pricePerSearch} per ${per}${confirm}`];
}

export interface OverlayReport {
  /** All faults; the overlay is usable if there are none. */
  readonly faults: readonly string[];
  readonly added: readonly string[];
  /** Decimal; every price, shipped or own, is multiplied by it. */
  readonly priceFactor: string;
  /** Shipped models with a changed field other than the factor. */
  readonly changed: readonly string[];
  /** New runs of these models are refused: check which published prompts use them. */
  readonly retired: readonly string[];
  readonly deprecated: readonly string[];
  /** Models that are not retired whose price the operator must confirm by setting it in the overlay. */
  readonly pricesToConfirm: readonly string[];
}

/** Reads an overlay as the server would at startup, and reports what it changes. */
export function checkOverlay(overlayFile: string, options: Omit<CatalogueOptions, "overlayFile">): OverlayReport {
  const before = new Map(loadCatalogue({ ...options, overlayFile: null }).entries.map((entry) => [entry.model, entry]));
  const loaded = loadOrFaults(overlayFile, options);
  const after = "faults" in loaded ? [] : loaded.entries.toSorted((a, b) => (a.model < b.model ? -1 : 1));
  const became = (status: string): string[] =>
    after
      .filter((entry) => entry.status === status && before.get(entry.model)?.status !== status)
      .map(({ model }) => model);
  return {
    faults: "faults" in loaded ? loaded.faults : [],
    priceFactor: after[0]?.priceFactor ?? "1",
    added: after.filter((entry) => !before.has(entry.model)).map(({ model }) => model),
    changed: after.filter((entry) => differs(before.get(entry.model), entry)).map(({ model }) => model),
    retired: became("retired"),
    deprecated: became("deprecated"),
    pricesToConfirm: after
      .filter((entry) => entry.priceToConfirm === true && entry.status !== "retired")
      .map(({ model }) => model),
  };
}

function differs(before: CatalogueEntry | undefined, after: CatalogueEntry): boolean {
  const { priceFactor } = after;
  return before !== undefined && JSON.stringify({ ...before, priceFactor }) !== JSON.stringify(after);
}

function loadOrFaults(
  overlayFile: string,
  options: Omit<CatalogueOptions, "overlayFile">,
): Catalogue | { readonly faults: readonly string[] } {
  try {
    return loadCatalogue({ ...options, overlayFile });
  } catch (error) {
    if (error instanceof CatalogueError) return { faults: error.faults };
    throw error;
  }
}
