/** Rules that a schema cannot express: about an entry as a whole, and about how entries relate. */
import { listWords, MODALITIES } from "@promptd/contract";
import { parseCredits, scaleRate } from "../../credits/index.ts";
import type { ModelRecord, OverlayRecord } from "./catalogue-file.ts";
import { makes } from "../providers/provider.ts";
import { mappingMembers, RATE_NAMES, type Mapping } from "./option-mapping.ts";
import { BUILT_IN_PROVIDERS, providerOf, RESERVED_NAMES } from "../providers/all-providers.ts";
import type { MergedOverlay, ReadOverlay } from "./overlay.ts";

interface Known {
  /** Every server name: the shipped ones, and those under `providers` in the overlay. */
  readonly providers: ReadonlySet<string>;
  readonly byModel: ReadonlyMap<string, ModelRecord>;
  /** Models with faults of their own, which cannot be checked here. */
  readonly faulty: ReadonlySet<string>;
}

/** All faults of the merged catalogue, each naming its entry. For malformed entries, only their references are checked. */
export function checkRecords(
  { records, faulty }: MergedOverlay,
  read: ReadOverlay,
  servers: Readonly<Record<string, unknown>>,
): string[] {
  const known = {
    providers: new Set([...Object.keys(servers), ...read.providers]),
    byModel: new Map(records.map((record) => [record.model, record])),
    faulty,
  };
  const priceFactor = read.overlay.priceFactor ?? "1";
  const checked = records.flatMap((record) =>
    [
      ...checkReferences(record, known),
      ...checkProvider(record, known),
      ...checkLimits(record),
      ...checkOptions(record),
      ...checkPrice(record, priceFactor),
      ...checkLifeCycle(record),
    ].map((fault) => `${record.model}: ${fault}`),
  );
  const unread = [...read.faulty, ...withoutRecord(read, known)].flatMap((entry) =>
    checkReferences(entry, known).map((fault) => `${entry.model ?? "a model without a name"}: ${fault}`),
  );
  return [
    ...[...read.providers]
      .filter((name) => RESERVED_NAMES.has(name))
      .map((name) => `providers.${name}: the name belongs to a built-in provider.`),
    ...checked,
    ...unread,
  ];
}

/** The operator's own entries that are incomplete. */
function withoutRecord({ overlay }: ReadOverlay, { byModel }: Known): readonly OverlayRecord[] {
  return (overlay.models ?? []).filter(({ model }) => !byModel.has(model));
}

function checkReferences(
  { provider, successor, fallback, modality }: Pick<OverlayRecord, "provider" | "successor" | "fallback" | "modality">,
  known: Known,
): string[] {
  const faults: string[] = [];
  if (provider !== undefined && !isBuiltIn(provider) && !known.providers.has(provider)) {
    faults.push(`provider "${provider}" is neither built in nor listed in "providers".`);
  }
  if (successor !== undefined && !known.faulty.has(successor)) {
    const isActive = known.byModel.get(successor)?.status === "active";
    if (!isActive) faults.push(`the successor "${successor}" is not an active model.`);
  }
  if (fallback !== undefined && !known.faulty.has(fallback)) {
    const found = known.byModel.get(fallback);
    const isFit = found !== undefined && (modality === undefined || found.modality === modality);
    if (!isFit) faults.push(`the fallback "${fallback}" is not a model of the same modality.`);
  }
  return faults;
}

function isBuiltIn(provider: string): boolean {
  return BUILT_IN_PROVIDERS.some(({ id }) => id === provider);
}

function checkProvider({ provider, modality, api, webSearch }: ModelRecord, { providers }: Known): string[] {
  if (!isBuiltIn(provider) && !providers.has(provider)) return [];
  const known = providerOf(provider);
  const made = MODALITIES.filter((each) => makes(known, each));
  const accepted: readonly string[] = (modality === "text" ? known.apis : null) ?? ["absent"];
  return [
    ...(made.includes(modality)
      ? []
      : [`provider "${provider}" does not support ${modality}; it supports ${listWords(made, "and")}.`]),
    ...(webSearch === undefined || (modality === "text" && known.webSearch !== null && api !== "chat")
      ? []
      : [`webSearch: provider "${provider}" does not support web search for this kind of model.`]),
    ...(accepted.includes(api ?? "absent") ? [] : [`"api" must be ${listWords(accepted, "or")}.`]),
  ];
}

function checkLimits({ modality, limits }: ModelRecord): string[] {
  if (modality !== "text") return [];
  return [
    ...(limits.contextTokens === undefined ? ["limits.contextTokens is required for text."] : []),
    ...(limits.maxOutputTokens < 1 ? ["limits.maxOutputTokens must be at least 1 for text."] : []),
  ];
}

function checkOptions(record: ModelRecord): string[] {
  const owners = new Map<string, string>();
  const faults: string[] = [];
  for (const [key, option] of Object.entries(record.runOptions)) {
    const values = Object.keys(option.values);
    if (values.length === 0) faults.push(`runOptions.${key} has no values.`);
    if (option.default !== undefined && !values.includes(option.default)) {
      faults.push(`runOptions.${key}: the default "${option.default}" is not one of its values.`);
    }
    for (const member of new Set(Object.values(option.values).flatMap(mappingMembers))) {
      const owner = owners.get(member);
      if (owner !== undefined) faults.push(`runOptions.${owner} and runOptions.${key} both set ${member}.`);
      owners.set(member, key);
    }
  }
  return faults;
}

/** A run stores its rates as JSON numbers, which cannot hold larger integers exactly. */
const RATE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

function checkPrice(record: ModelRecord, priceFactor: string): string[] {
  const mappings = [
    record.defaults ?? {},
    ...Object.values(record.runOptions).flatMap((option) => Object.values(option.values)),
  ];
  const prices = [record.price, ...mappings.flatMap((mapping) => mapping.price ?? [])];
  const faults: string[] = [];
  const rates = prices.flatMap((price) => RATE_NAMES.flatMap((name) => price[name] ?? []));
  if (record.webSearch !== undefined) rates.push(record.webSearch.pricePerSearch);
  if (rates.some((rate) => scaleRate(parseCredits(rate), parseCredits(priceFactor)) > RATE_MAX)) {
    faults.push(`a price multiplied by the priceFactor ${priceFactor} is above 9,007,199,254 credits.`);
  }
  if (
    prices.some(
      (price) => Number(price.cachedInputPer1k ?? 0) > Number(price.inputPer1k ?? record.price.inputPer1k ?? 0),
    )
  ) {
    faults.push("cachedInputPer1k must not exceed inputPer1k: the hold is computed from inputPer1k.");
  }
  faults.push(...checkUnusedPrices(record));
  const isPerSecond = prices.some((price) => Number(price.perSecond ?? 0) > 0);
  if (isPerSecond && !hasDuration(record)) {
    faults.push(
      "a per-second price needs a duration, either in the defaults or in every value of an option that has a default.",
    );
  }
  return faults;
}

/** Without this check, a price that options always replace would be silently ignored. */
function checkUnusedPrices(record: ModelRecord): string[] {
  const given = RATE_NAMES.filter((name) => record.price[name] !== undefined);
  return given.flatMap((name) => {
    if (record.defaults?.price?.[name] !== undefined) {
      return [`price.${name} has no effect: defaults.price.${name} replaces it. Set the price there.`];
    }
    return Object.entries(record.runOptions)
      .filter(([, { default: usual, values }]) => {
        const all = Object.values(values);
        return usual !== undefined && all.length > 0 && all.every((mapping) => mapping.price?.[name] !== undefined);
      })
      .map(([key, { values }]) => {
        const paths = Object.keys(values).map((value) => `runOptions.${key}.values.${value}.price.${name}`);
        return `price.${name} has no effect: every value of the option ${key} sets its own price. Change ${paths.join(", ")}, or change all prices with priceFactor.`;
      });
  });
}

function hasDuration(record: ModelRecord): boolean {
  const sets = (mapping: Mapping | undefined): boolean => mapping?.duration !== undefined;
  if (sets(record.defaults)) return true;
  return Object.values(record.runOptions).some(
    (option) => option.default !== undefined && Object.values(option.values).every(sets),
  );
}

function checkLifeCycle({ status, retiredAt, fallback, modality }: ModelRecord): string[] {
  const faults: string[] = [];
  if (status === "retired" && retiredAt === undefined) {
    faults.push('retiredAt is required for status "retired": the day the model was retired, such as "2026-11-01".');
  }
  if (status !== "retired" && retiredAt !== undefined) {
    faults.push('retiredAt is only for status "retired"; use retiresAt for a future day.');
  }
  if (fallback !== undefined && modality === "video") {
    faults.push("a video model cannot have a fallback: a started video belongs to one provider.");
  }
  return faults;
}
