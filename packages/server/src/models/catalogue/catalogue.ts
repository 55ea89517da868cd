/**
 * The models this installation knows: the shipped catalogue.json, changed and extended by an operator's overlay, plus
 * model servers found at run time. Nothing is fetched to build it. Which of them are enabled is decided for all
 * processes together (enabled-models.ts), since the hash of the list must be the same in each of them.
 */
import { readFileSync } from "node:fs";
import type { Resources } from "@promptd/contract";
import { checkRecords } from "./catalogue-checks.ts";
import { catalogueFileSchema, describeIssues, type ModelRecord } from "./catalogue-file.ts";
import type { OwnServer } from "../providers/provider-endpoint.ts";
import { providerOf } from "../providers/index.ts";
import { mergeOverlay, NO_OVERLAY, readOverlay } from "./overlay.ts";
import { mergeMappings, type Mapping } from "./mapping.ts";
import { buildResources } from "./resources.ts";

/** One model, as the file gives it, with what the installation adds. */
export interface CatalogueEntry extends ModelRecord {
  /** Credits of a run that is not free, at least. */
  readonly minimum: number;
  /** Decimal; every price times this. */
  readonly priceFactor: string;
  readonly typicalOutputTokens: number;
  readonly origin: "shipped" | "operator" | "detected";
  /** Of an operator's own or a detected server; null: the provider's usual address. */
  readonly server: OwnServer | null;
}

export interface Catalogue {
  /** Also deprecated, retired and configured-off entries; null: no such model. */
  find(model: string): CatalogueEntry | null;
  /** True when runs of the model can be executed now: not retired, and its provider is configured. */
  isEnabled(model: string): boolean;
  /** The list that GET /v1/resources answers: enabled models with a hash. The same object until the set changes. */
  resources(): Resources;
  readonly entries: readonly CatalogueEntry[];
  /** Models of servers found at run time. */
  detected(): readonly CatalogueEntry[];
  /** What this process's own configuration would enable; all processes should agree. */
  enabledHere(): readonly string[];
  /** Replaces the enabled set; entries of detected models come and go with it. */
  useEnabled(models: readonly string[], detected: readonly CatalogueEntry[]): void;
}

export interface CatalogueOptions {
  /** PROMPTD_MODELS_FILE. */
  readonly overlayFile: string | null;
  readonly hasSecret: (environmentName: string) => boolean;
  /** What keeps a key from being sent, for the keys that the overlay names; absent: no key is checked. */
  readonly keyFaults?: (environmentName: string) => readonly string[];
  /** False removes the sandbox models. */
  readonly sandbox: boolean;
}

/** All faults of the shipped file and of the overlay at once. */
export class CatalogueError extends Error {
  override readonly name = "CatalogueError";
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(
      `The model catalogue has ${faults.length === 1 ? "a fault" : `${faults.length} faults`}:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`,
    );
    this.faults = faults;
  }
}

/** @throws CatalogueError with every fault. */
export function loadCatalogue(options: CatalogueOptions): Catalogue {
  const shipped = readShipped();
  const read = options.overlayFile === null ? NO_OVERLAY : readOverlay(options.overlayFile);
  const { overlay } = read;
  const providers = overlay.providers ?? {};
  const merged = mergeOverlay(shipped, read);
  const file = options.overlayFile ?? "catalogue.json";
  const found = [...merged.faults, ...checkRecords(merged, read), ...checkKeys(providers, options)];
  const faults = [...read.faults, ...found.map((fault) => `${file}: ${fault}`)];
  if (faults.length > 0) throw new CatalogueError(faults);
  const shippedModels = new Set(shipped.map((record) => record.model));
  const entries = merged.records
    .filter((record) => options.sandbox || !providerOf(record.provider).isSimulated)
    .map((record) =>
      entryOf(record, {
        server: providers[record.provider] ?? null,
        priceFactor: overlay.priceFactor ?? "1",
        origin: shippedModels.has(record.model) ? "shipped" : "operator",
      }),
    );
  return createCatalogue(entries, options.hasSecret);
}

function checkKeys(
  providers: Readonly<Record<string, OwnServer>>,
  { keyFaults = () => [] }: CatalogueOptions,
): string[] {
  return Object.entries(providers).flatMap(([name, { apiKeyEnv }]) =>
    (apiKeyEnv === undefined ? [] : keyFaults(apiKeyEnv)).map((fault) => `providers.${name}.apiKeyEnv: ${fault}`),
  );
}

function createCatalogue(entries: readonly CatalogueEntry[], hasSecret: CatalogueOptions["hasSecret"]): Catalogue {
  const known = new Map(entries.map((entry) => [entry.model, entry]));
  const enabledHere = (): string[] =>
    entries.filter((entry) => isConfigured(entry, hasSecret)).map((entry) => entry.model);
  let detected = new Map<string, CatalogueEntry>();
  let enabled: ReadonlySet<string> = new Set(enabledHere());
  let resources: Resources | null = null;
  const find = (model: string): CatalogueEntry | null => known.get(model) ?? detected.get(model) ?? null;
  return {
    find,
    isEnabled: (model) => enabled.has(model) && find(model) !== null,
    resources: () => {
      resources ??= buildResources([...enabled].flatMap((model) => find(model) ?? []));
      return resources;
    },
    entries,
    detected: () => [...detected.values()],
    enabledHere,
    useEnabled: (models, found) => {
      // A retired model stays off, whatever an older process wrote.
      const next = new Set(models.filter((model) => known.get(model)?.status !== "retired"));
      const isSame = next.symmetricDifference(enabled).size === 0;
      detected = new Map(found.map((entry) => [entry.model, entry]));
      if (isSame) return;
      enabled = next;
      resources = null;
    },
  };
}

function isConfigured(entry: CatalogueEntry, hasSecret: CatalogueOptions["hasSecret"]): boolean {
  return entry.status !== "retired" && (entry.requires === undefined || hasSecret(entry.requires));
}

function readShipped(): ModelRecord[] {
  const parsed = catalogueFileSchema.safeParse(
    JSON.parse(readFileSync(new URL("./catalogue.json", import.meta.url), "utf8")),
  );
  if (!parsed.success) throw new CatalogueError(describeIssues(parsed.error, "catalogue.json"));
  return parsed.data.models;
}

const TYPICAL_OUTPUT_TOKENS = 800;
const MINIMUM_CREDITS = 1;

/** The record with every default filled in. */
export function entryOf(
  record: ModelRecord,
  source: Pick<CatalogueEntry, "server" | "priceFactor" | "origin">,
): CatalogueEntry {
  return {
    ...record,
    ...source,
    requires: record.requires ?? source.server?.apiKeyEnv,
    minimum: record.price.minimum ?? MINIMUM_CREDITS,
    typicalOutputTokens: record.typical?.outputTokens ?? TYPICAL_OUTPUT_TOKENS,
  };
}

/**
 * What the chosen options mean: the entry's defaults, then one value per option. A value that the catalogue does not
 * know (it may have changed since the run was created) counts as the option's default.
 */
export function resolveMapping(entry: CatalogueEntry, options: Readonly<Record<string, string>>): Mapping {
  const chosen = Object.entries(entry.runOptions).map(([key, option]) => {
    const value = Object.hasOwn(options, key) ? options[key] : undefined;
    return ownValue(option.values, value) ?? ownValue(option.values, option.default) ?? {};
  });
  return mergeMappings([entry.defaults ?? {}, ...chosen]);
}

function ownValue(values: { readonly [value: string]: Mapping }, value: string | undefined): Mapping | undefined {
  return value !== undefined && Object.hasOwn(values, value) ? values[value] : undefined;
}
