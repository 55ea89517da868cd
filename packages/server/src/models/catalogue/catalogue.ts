/**
 * The models this installation knows: the shipped entries, changed and extended by an operator's overlay, plus
 * models on servers found at run time. Nothing is fetched to build it. Which models are enabled is decided for all
 * processes together (enabled-models.ts), since the hash of the list must be the same in every process.
 */
import type { Resources } from "@promptd/contract";
import { DAY_MS, dayOf, systemClock, type Clock } from "../../platform/clock.ts";
import { checkRecords } from "./catalogue-checks.ts";
import { CatalogueError, recordOn, type ModelRecord } from "./catalogue-file.ts";
import type { OwnServer } from "../providers/provider.ts";
import { providerOf } from "../providers/all-providers.ts";
import { mergeOverlay, NO_OVERLAY, readOverlay } from "./overlay.ts";
import { mergeMappings, type Mapping } from "./option-mapping.ts";
import { buildResources } from "./resources.ts";
import { bindRole, checkRoles, type RoleNeeds, type Roles } from "./roles.ts";
import { readShipped } from "./shipped.ts";

/** One model: its file entry, plus what the installation adds. */
export interface CatalogueEntry extends ModelRecord {
  /** The fewest credits that a run costs unless it is free. */
  readonly minimum: number;
  /** Decimal; every price is multiplied by it. */
  readonly priceFactor: string;
  readonly typicalOutputTokens: number;
  readonly origin: "shipped" | "operator" | "detected";
  /** The operator's own server or a detected one; null: the provider's usual address. */
  readonly server: OwnServer | null;
  /** True: the number of concurrent runs follows its server's pace, up to `limits.concurrency`. */
  readonly isPaced: boolean;
}

export interface Catalogue {
  /** Finds any entry, including deprecated, retired, and disabled ones; null: no such model. */
  find(model: string): CatalogueEntry | null;
  /** What a prompt may name instead of a model. */
  readonly roles: Roles;
  /** The model that a role currently means here for a prompt with these needs; null: no such role. */
  bind(role: string, needs: RoleNeeds): CatalogueEntry | null;
  /** True when runs of the model can be executed now: it is not retired, and its provider is configured. */
  isEnabled(model: string): boolean;
  /** The response of GET /v1/resources: enabled models with a hash. The same object until the set changes. */
  resources(): Resources;
  readonly entries: readonly CatalogueEntry[];
  /** Models of servers found at run time. */
  detected(): readonly CatalogueEntry[];
  /** The models that this process's own configuration would enable; all processes should agree. */
  enabledHere(): readonly string[];
  /** Replaces the enabled set; entries of detected models come and go with it. */
  useEnabled(models: readonly string[], detected: readonly CatalogueEntry[]): void;
}

export interface CatalogueOptions {
  /** PROMPTD_MODELS_FILE. */
  readonly overlayFile: string | null;
  readonly hasSecret: (environmentName: string) => boolean;
  /** Why a key that the overlay names cannot be sent; absent: keys are not checked. */
  readonly keyFaults?: (environmentName: string) => readonly string[];
  /** False removes the sandbox models. */
  readonly sandbox: boolean;
  /** Decides which announced end dates have passed; absent: the system clock. */
  readonly clock?: Clock | undefined;
}

/** @throws CatalogueError with every fault. */
export function loadCatalogue(options: CatalogueOptions): Catalogue {
  const shipped = readShipped();
  const read = options.overlayFile === null ? NO_OVERLAY : readOverlay(options.overlayFile);
  const { overlay } = read;
  const servers = { ...shipped.servers, ...overlay.providers };
  const merged = mergeOverlay(shipped.records, read);
  const allRoles = { ...shipped.roles, ...overlay.roles };
  const file = options.overlayFile ?? "catalogue.json";
  const found = checkKeys(servers, options);
  // A test checks the shipped entries against these rules, so without an overlay they are not checked at startup.
  if (options.overlayFile !== null)
    found.unshift(...merged.faults, ...checkRecords(merged, read, servers), ...checkRoles(allRoles, merged.records));
  const faults = [...read.faults, ...found.map((fault) => `${file}: ${fault}`)];
  if (faults.length > 0) throw new CatalogueError(faults);
  const shippedModels = new Set(shipped.records.map((record) => record.model));
  const offered = merged.records.filter((record) => options.sandbox || !providerOf(record.provider).isSimulated);
  const entries = offered.map((record) =>
    entryOf(record, {
      server: servers[record.provider] ?? null,
      priceFactor: overlay.priceFactor ?? "1",
      origin: shippedModels.has(record.model) ? "shipped" : "operator",
      isPaced: false,
    }),
  );
  return createCatalogue(entries, allRoles, options);
}

function checkKeys(servers: Readonly<Record<string, OwnServer>>, { keyFaults = () => [] }: CatalogueOptions): string[] {
  return Object.entries(servers).flatMap(([name, { apiKeyEnv }]) =>
    (apiKeyEnv === undefined ? [] : keyFaults(apiKeyEnv)).map((fault) => `providers.${name}.apiKeyEnv: ${fault}`),
  );
}

function createCatalogue(
  entries: readonly CatalogueEntry[],
  roles: Roles,
  { hasSecret, clock = systemClock }: CatalogueOptions,
): Catalogue {
  let known = new Map<string, CatalogueEntry>();
  let knownDay = NaN;
  let detected = new Map<string, CatalogueEntry>();
  let enabled: ReadonlySet<string> = new Set();
  let resources: Resources | null = null;
  /** The entries as they are today. */
  const today = (): ReadonlyMap<string, CatalogueEntry> => {
    const nowMs = clock.nowMs();
    const dayNumber = Math.floor(nowMs / DAY_MS); // called several times per run, so no date is formatted
    if (dayNumber === knownDay) return known;
    knownDay = dayNumber;
    const day = dayOf(nowMs);
    known = new Map(entries.map((entry) => [entry.model, recordOn(entry, day)]));
    resources = null;
    return known;
  };
  const find = (model: string): CatalogueEntry | null => today().get(model) ?? detected.get(model) ?? null;
  const enabledHere = (): string[] =>
    [...today().values()].filter((entry) => isConfigured(entry, hasSecret)).map(({ model }) => model);
  // A retired model stays off, whatever an older process wrote.
  const findEnabled = (model: string): CatalogueEntry | null => {
    const entry = enabled.has(model) ? find(model) : null;
    return entry?.status === "retired" ? null : entry;
  };
  enabled = new Set(enabledHere());
  const isEnabled = (model: string): boolean => findEnabled(model) !== null;
  return {
    find,
    isEnabled,
    roles,
    bind: (role, needs) =>
      Object.hasOwn(roles, role)
        ? bindRole(
            (roles[role] ?? []).flatMap((model) => find(model) ?? []),
            needs,
            isEnabled,
          )
        : null,
    resources: () => {
      today();
      resources ??= buildResources([...enabled].flatMap((model) => findEnabled(model) ?? []));
      return resources;
    },
    get entries() {
      return [...today().values()];
    },
    detected: () => [...detected.values()],
    enabledHere,
    useEnabled: (models, found) => {
      const next = new Set(models);
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

const TYPICAL_OUTPUT_TOKENS = 800;
const MINIMUM_CREDITS = 1;

/** The record with every default filled in. */
export function entryOf(
  record: ModelRecord,
  source: Pick<CatalogueEntry, "server" | "priceFactor" | "origin" | "isPaced">,
): CatalogueEntry {
  return {
    ...record,
    ...source,
    requires: record.requires ?? source.server?.apiKeyEnv,
    minimum: record.price.minimum ?? MINIMUM_CREDITS,
    typicalOutputTokens: record.typical?.outputTokens ?? TYPICAL_OUTPUT_TOKENS,
  };
}

/** @throws Error for a model that is not in the catalogue: callers have already checked that it is. */
export function requireEntry(catalogue: Pick<Catalogue, "find">, model: string): CatalogueEntry {
  const entry = catalogue.find(model);
  if (entry === null) throw new Error(`The model ${model} is not in the catalogue.`);
  return entry;
}

/**
 * Resolves the chosen options: the entry's defaults, then one value per option. A value that the catalogue no longer
 * knows (it may have changed since the run was created) counts as the option's default.
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
