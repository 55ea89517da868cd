/**
 * Reads an operator's overlay file and merges it into the shipped entries. Malformed parts are reported and left out, so
 * that the rest can still be checked.
 */
import { listWords } from "@promptd/contract";
import { readFileSync } from "node:fs";
import type { z } from "zod";
import { describeFileFailure, reasonOf } from "../../platform/reason-of.ts";
import {
  describeIssues,
  IN_OUR_WORDS,
  modelRecordSchema,
  overlayFileSchema,
  type ModelRecord,
  type OverlayFile,
  type OverlayRecord,
} from "./catalogue-file.ts";
import { RATE_NAMES, type RateName } from "./option-mapping.ts";
import { isPlainObject, presentMembers } from "../../platform/json.ts";

export interface ReadOverlay {
  /** The usable part of the file; all of it if there are no faults. */
  readonly overlay: Partial<OverlayFile>;
  readonly faults: readonly string[];
  /** Names under `providers`, including faulty ones, so that a fault is not reported again for everything that refers to it. */
  readonly providers: ReadonlySet<string>;
  /** The entries under `models` that are not in `overlay`, as far as they are readable. */
  readonly faulty: readonly ReturnType<typeof readEntry>[];
}

export const NO_OVERLAY: ReadOverlay = { overlay: {}, faults: [], providers: new Set(), faulty: [] };

export function readOverlay(file: string): ReadOverlay {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  } catch (error) {
    const unreadable = describeFileFailure(error, `${file} (PROMPTD_MODELS_FILE)`);
    return { ...NO_OVERLAY, faults: [unreadable ?? `${file}: not valid JSON: ${reasonOf(error)}`] };
  }
  const parsed = overlayFileSchema.safeParse(json, IN_OUR_WORDS);
  if (parsed.success) {
    return {
      overlay: parsed.data,
      faults: [],
      providers: new Set(Object.keys(parsed.data.providers ?? {})),
      faulty: [],
    };
  }
  return { ...readRest(json, parsed.error.issues), faults: describeIssues(parsed.error, file) };
}

/** The file without its faulty parts: single providers and models, and otherwise whole members. */
function readRest(json: unknown, issues: z.ZodError["issues"]): Omit<ReadOverlay, "faults"> {
  if (!isPlainObject(json)) return NO_OVERLAY;
  const paths = new Set(issues.flatMap(({ path }) => [path.slice(0, 1).join("."), path.slice(0, 2).join(".")]));
  const given = Array.isArray(json["models"]) ? (json["models"] as unknown[]) : [];
  const isFaulty = (_: unknown, i: number): boolean => paths.has(`models.${i}`);
  const providers = isPlainObject(json["providers"]) ? Object.entries(json["providers"]) : [];
  const others = Object.entries(json).filter(([key]) => Object.hasOwn(overlayFileSchema.shape, key) && !paths.has(key));
  const rest = overlayFileSchema.safeParse({
    ...Object.fromEntries(others),
    formatVersion: 1,
    providers: Object.fromEntries(providers.filter(([name]) => !paths.has(`providers.${name}`))),
    models: given.filter((model, i) => !isFaulty(model, i)),
  });
  return {
    overlay: rest.success ? rest.data : {},
    providers: new Set(providers.map(([name]) => name)),
    faulty: given.filter(isFaulty).map(readEntry),
  };
}

function readEntry(entry: unknown) {
  const members = isPlainObject(entry) ? entry : {};
  const text = (name: string) => (typeof members[name] === "string" ? members[name] : undefined);
  return {
    model: text("model"),
    index: typeof members["index"] === "number" ? members["index"] : undefined,
    provider: text("provider"),
    successor: text("successor"),
    fallback: text("fallback"),
  };
}

export interface MergedOverlay {
  readonly records: readonly ModelRecord[];
  readonly faults: readonly string[];
  /** Models with a faulty entry, so that a fault is not reported again for everything that refers to it. */
  readonly faulty: ReadonlySet<string>;
}

const OPERATOR_INDEX_MIN = 10_000;

/** An overlay record either changes a shipped entry field by field, or is a complete entry of its own. */
export function mergeOverlay(shipped: readonly ModelRecord[], { overlay, faulty }: ReadOverlay): MergedOverlay {
  const records = new Map(shipped.map((record) => [record.model, record]));
  const changes = overlay.models ?? [];
  const names = [...changes, ...faulty].flatMap(({ model }) => model ?? []);
  const faults = repeated(names).map((model) => `${model} appears twice.`);
  const faultyModels = new Set(faulty.flatMap(({ model }) => model ?? []));
  const shippedModels = new Map(records);
  for (const change of changes) {
    const before = records.get(change.model);
    const result = before === undefined ? addRecord(change) : changeRecord(before, change);
    faults.push(...result.faults.map((fault) => `${change.model}: ${fault}`));
    if (result.faults.length > 0) faultyModels.add(change.model);
    if (result.record !== null) records.set(change.model, result.record);
  }
  const own = [...changes, ...faulty].filter(({ model }) => model !== undefined && !shippedModels.has(model));
  return { records: [...records.values()], faults: [...faults, ...checkIndexes(own)], faulty: faultyModels };
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))];
}

/** Lower indexes belong to shipped models, and addRecord reports those. */
function checkIndexes(
  own: readonly { readonly model?: string | undefined; readonly index?: number | undefined }[],
): string[] {
  const users = Map.groupBy(own, ({ index = 0 }) => index);
  return [...users].flatMap(([index, entries]) => {
    const models = [...new Set(entries.flatMap(({ model }) => model ?? []))];
    if (index < OPERATOR_INDEX_MIN || models.length < 2) return [];
    return [`index ${index} is used twice: by ${listWords(models, "and")}.`];
  });
}

interface MergedRecord {
  /** Also set for a faulty change, as far as it can be applied: the record may have further faults. */
  readonly record: ModelRecord | null;
  readonly faults: readonly string[];
}

function changeRecord(before: ModelRecord, change: OverlayRecord): MergedRecord {
  const faults: string[] = [];
  if (change.index !== undefined && change.index !== before.index) {
    faults.push(`the index of a shipped model (${before.index}) cannot be changed.`);
  }
  const left = leftOut(before, change);
  if (left.length > 0) {
    const names = left.map((name) => `${name} (${before.price[name]})`).join(", ");
    faults.push(
      `price replaces the shipped price as a whole, so it must also set ${names}; use "0" if there is no charge.`,
    );
  }
  // The operator's own price needs no confirmation.
  const confirmed = change.price === undefined ? {} : { priceToConfirm: false };
  const leftRates = Object.fromEntries(left.map((name) => [name, before.price[name]]));
  const price = change.price === undefined ? {} : { price: { ...leftRates, ...change.price } };
  const limits = { ...before.limits, ...presentMembers(change.limits ?? {}) };
  const changed = presentMembers(change) as Partial<ModelRecord>;
  return { record: { ...before, ...confirmed, ...changed, ...price, index: before.index, limits }, faults };
}

/** Rates that the operator's price would silently drop. Cached input is exempt: it then costs the same as input. */
function leftOut(before: ModelRecord, { price }: OverlayRecord): RateName[] {
  if (price === undefined) return [];
  return RATE_NAMES.filter(
    (name) => name !== "cachedInputPer1k" && before.price[name] !== undefined && price[name] === undefined,
  );
}

function addRecord(change: OverlayRecord): MergedRecord {
  if (change.index === undefined) {
    const needs = "to add your own, set index, provider, providerModel, modality, price, and limits";
    return { record: null, faults: [`this model is not in the shipped catalogue; ${needs}.`] };
  }
  const isOwn = change.index >= OPERATOR_INDEX_MIN;
  const faults = isOwn ? [] : ["the index of your own model must be between 10000 and 19999."];
  const whole = modelRecordSchema.safeParse({ status: "active", runOptions: {}, ...change }, IN_OUR_WORDS);
  if (whole.success) return { record: whole.data, faults };
  return { record: null, faults: [...describeIssues(whole.error), ...faults] };
}
