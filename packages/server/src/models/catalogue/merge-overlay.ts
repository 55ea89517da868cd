/** The shipped entries with what an operator's overlay changes and adds. */
import { describeIssues, modelRecordSchema, type ModelRecord, type OverlayRecord } from "./catalogue-file.ts";
import { RATE_NAMES, type RateName } from "./mapping.ts";
import type { ReadOverlay } from "./read-overlay.ts";

export interface MergedOverlay {
  readonly records: readonly ModelRecord[];
  readonly faults: readonly string[];
  /** Models of which an entry has a fault: what refers to one of these is not told the fault again. */
  readonly faulty: ReadonlySet<string>;
}

const OPERATOR_INDEX_MIN = 10_000;

/** An overlay record changes a shipped entry field by field, or is a whole entry of its own. */
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

/** The one of a shipped model is no index for an entry of one's own, which addRecord tells. */
function checkIndexes(
  own: readonly { readonly model?: string | undefined; readonly index?: number | undefined }[],
): string[] {
  const users = Map.groupBy(own, ({ index = 0 }) => index);
  return [...users].flatMap(([index, entries]) => {
    const models = [...new Set(entries.map(({ model }) => model))];
    if (index < OPERATOR_INDEX_MIN || models.length < 2) return [];
    return [`index ${index} is used twice: by ${models.join(" and ")}.`];
  });
}

interface MergedRecord {
  /** Also of a change with faults, as far as it can be made: it may have others. */
  readonly record: ModelRecord | null;
  readonly faults: readonly string[];
}

function changeRecord(before: ModelRecord, change: OverlayRecord): MergedRecord {
  const faults: string[] = [];
  if (change.index !== undefined && change.index !== before.index) {
    faults.push(`the index ${before.index} of a shipped model cannot change.`);
  }
  const left = leftOut(before, change);
  if (left.length > 0) {
    const names = left.map((name) => `${name} (${before.price[name]})`).join(", ");
    faults.push(
      `price replaces the shipped one as a whole, and leaves out ${names}: give it too, "0" if it is to cost nothing.`,
    );
  }
  // A price of the operator's own needs no confirmation any more.
  const confirmed = change.price === undefined ? {} : { priceToConfirm: false };
  const kept = Object.fromEntries(left.map((name) => [name, before.price[name]]));
  const price = change.price === undefined ? {} : { price: { ...kept, ...change.price } };
  const limits = { ...before.limits, ...definedOf(change.limits) };
  const changed = definedOf(change) as Partial<ModelRecord>;
  return { record: { ...before, ...confirmed, ...changed, ...price, index: before.index, limits }, faults };
}

type Defined<Value> = { [Name in keyof Value]?: Exclude<Value[Name], undefined> };

function definedOf<Value extends object>(value: Value | undefined): Defined<Value> {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, member]) => member !== undefined)) as Defined<Value>;
}

/** Rates that a price of the operator's own would drop in silence. Cached input then costs what input costs. */
function leftOut(before: ModelRecord, { price }: OverlayRecord): RateName[] {
  if (price === undefined) return [];
  return RATE_NAMES.filter(
    (name) => name !== "cachedInputPer1k" && before.price[name] !== undefined && price[name] === undefined,
  );
}

function addRecord(change: OverlayRecord): MergedRecord {
  if (change.index === undefined) {
    const needs = "an entry of your own needs index, provider, providerModel, modality, price and limits";
    return { record: null, faults: [`there is no such model; ${needs}.`] };
  }
  const isOwn = change.index >= OPERATOR_INDEX_MIN;
  const faults = isOwn ? [] : ["the index of your own model must be from 10000 to 19999."];
  const whole = modelRecordSchema.safeParse({ status: "active", runOptions: {}, ...change });
  if (whole.success) return { record: whole.data, faults };
  return { record: null, faults: [...describeIssues(whole.error), ...faults] };
}
