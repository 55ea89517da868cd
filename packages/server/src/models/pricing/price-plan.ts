/** What a run can cost at most, what it is expected to cost, and what it did cost. */
import { Buffer } from "node:buffer";
import {
  nanoCredits,
  parseCredits,
  scaleRate,
  wholeCredits,
  type PricedUse,
  type PriceRates,
} from "../../credits/index.ts";
import { requireEntry, resolveMapping, type Catalogue, type CatalogueEntry } from "../catalogue/catalogue.ts";
import type { Mapping, RateName } from "../catalogue/option-mapping.ts";
import type { Usage } from "../providers/failure.ts";
import { answerTokensMax, outputTokensMax, reasoningRoom } from "./output-limit.ts";

/** One step of a prompt, as far as its price depends on it. */
export interface StepPlan {
  readonly model: string;
  /** Of this step; an option that is absent counts with its default. */
  readonly options: Readonly<Record<string, string>>;
  /** Null: the model's usual limit. */
  readonly maxOutputTokens: number | null;
  /** Outputs, of an image step. */
  readonly count: number;
  /** Input images. */
  readonly images: number;
  /** UTF-8 bytes of instructions and prompt, earlier outputs left out. */
  readonly textBytes: number;
  /** The most tokens that the earlier steps it reads may have. */
  readonly readsTokens: number;
  /** Models that may answer in its place. */
  readonly fallback?: readonly string[];
  /** True: its model may search the web. */
  readonly searchesWeb?: boolean;
}

export interface StepUsage {
  /** 0-based. */
  readonly step: number;
  readonly usage: Usage;
  /** The one that answered in place of the step's own; absent: that one. */
  readonly model?: string;
}

/** The rates of a run as JSON, stored on its row: a later change of the catalogue does not touch it. Micro-credits. */
export interface PriceSnapshot {
  readonly v: 1;
  /** The hold; nothing more is ever captured. 0: the run is free. */
  readonly ceiling: number;
  readonly minimum: number;
  readonly steps: readonly StoredRates[];
  /** Of models that may answer in place of a step's own, best first; absent: there are none. */
  readonly fallbacks?: readonly { readonly step: number; readonly model: string; readonly rates: StoredRates }[];
}

/** `perSearch` is absent where the step does not search the web. */
type StoredRates = { readonly [Name in RateName]: number } & { readonly perSearch?: number };

/**
 * The most a run of these steps can cost: every token of input and output, every image, every search of the web with
 * what it is assumed to find, no cache, each step by the dearest of its models.
 * Half of the bytes is an upper bound of the tokens of ordinary text, in any script.
 * @returns credits 0 when every price is zero: the run is free and nothing is held.
 */
export function priceCeiling(
  catalogue: Catalogue,
  steps: readonly StepPlan[],
  mainModel: string,
): { readonly credits: number; readonly prices: PriceSnapshot } {
  const priced = steps.map((step) => priceStep(catalogue, step));
  const others = steps.map((step) =>
    fallbacksOf(step, catalogue).map((model) => priceStep(catalogue, { ...step, model })),
  );
  const nano = priced.reduce((sum, own, index) => {
    const all = [own, ...(others[index] ?? [])].map(ceilingNano);
    return sum + all.reduce((most, each) => (each > most ? each : most));
  }, 0n);
  const { minimum } = requireEntry(catalogue, mainModel);
  const ceiling = wholeCredits(nano, minimum);
  const fallbacks = others.flatMap((each, step) =>
    each.map((other) => ({ step, model: other.entry.model, rates: storedRates(other) })),
  );
  const prices = { v: 1, ceiling, minimum, steps: priced.map(storedRates) } as const;
  return { credits: ceiling, prices: fallbacks.length === 0 ? prices : { ...prices, fallbacks } };
}

/** Those with a price here; a model that is not in the catalogue has none, so it is not called. */
function fallbacksOf({ model: own, fallback = [] }: StepPlan, catalogue: Catalogue): readonly string[] {
  return fallback.filter(
    (model) => model !== own && (catalogue.find(model) ?? { status: "retired" }).status !== "retired",
  );
}

function ceilingNano({ rates, step, entry, mapping }: PricedStep): bigint {
  return nanoCredits(rates, ceilingUse(step, entry, mapping));
}

/** What a run of these steps usually costs; 0 when free. `textBytes` then holds typical inputs. */
export function priceEstimate(catalogue: Catalogue, steps: readonly StepPlan[], mainModel: string): number {
  const nano = steps
    .map((step) => priceStep(catalogue, step))
    .reduce((sum, { rates, step, entry, mapping }) => sum + nanoCredits(rates, typicalUse(step, entry, mapping)), 0n);
  return wholeCredits(nano, requireEntry(catalogue, mainModel).minimum);
}

/** Credits to capture for what was delivered: never more than was held. */
export function settlePrice(prices: PriceSnapshot, delivered: readonly StepUsage[]): number {
  return Math.min(prices.ceiling, uncappedPrice(prices, delivered));
}

/** What the usage would cost without the hold's bound; the difference is the operator's loss and worth an alert. */
export function uncappedPrice(prices: PriceSnapshot, delivered: readonly StepUsage[]): number {
  const nano = delivered.reduce((sum, { step, usage, model }) => {
    const other = prices.fallbacks?.find((each) => each.step === step && each.model === model);
    const rates = other?.rates ?? prices.steps[step];
    if (rates === undefined) throw new RangeError(`Step ${step} has no price on this run.`);
    return sum + nanoCredits(loadedRates(rates), usage);
  }, 0n);
  return wholeCredits(nano, prices.minimum);
}

interface PricedStep {
  readonly step: StepPlan;
  readonly entry: CatalogueEntry;
  readonly mapping: Mapping;
  readonly rates: PriceRates;
}

function priceStep(catalogue: Catalogue, step: StepPlan): PricedStep {
  const entry = requireEntry(catalogue, step.model);
  const mapping = resolveMapping(entry, step.options);
  return { step, entry, mapping, rates: ratesOf(entry, mapping) };
}

/** The entry's prices, overlaid by those of the chosen options, times the operator's factor. */
export function ratesOf(entry: CatalogueEntry, mapping: Mapping): PriceRates {
  const { minimum: _minimum, ...base } = entry.price;
  const texts = { ...base, ...mapping.price };
  const factor = parseCredits(entry.priceFactor);
  const rate = (text: string | undefined): bigint => (text === undefined ? 0n : scaleRate(parseCredits(text), factor));
  return {
    inputPer1k: rate(texts.inputPer1k),
    cachedInputPer1k: rate(texts.cachedInputPer1k ?? texts.inputPer1k),
    outputPer1k: rate(texts.outputPer1k),
    perImage: rate(texts.perImage),
    perSecond: rate(texts.perSecond),
    perSearch: rate(entry.webSearch?.pricePerSearch),
  };
}

const TOKENS_BESIDE_THE_TEXT = 64; // roles, separators and what a provider adds around a prompt
const BYTES_PER_TOKEN_LEAST = 2;
const BYTES_PER_TOKEN_USUAL = 4;
const TOKENS_PER_STEP_USUAL = 16;
const SEARCHES_USUAL = 1;

function ceilingUse(step: StepPlan, entry: CatalogueEntry, mapping: Mapping): PricedUse {
  const text = Math.ceil(step.textBytes / BYTES_PER_TOKEN_LEAST) + TOKENS_BESIDE_THE_TEXT;
  const input = text + imageTokens(step, entry) + step.readsTokens;
  const search = searchUse(step, entry, entry.webSearch?.searchesMax ?? 0);
  return {
    inputTokens: Math.min(entry.limits.contextTokens ?? input, input) * callsOf(step, entry) + search.inputTokens,
    cachedInputTokens: 0,
    outputTokens:
      (outputTokensMax(entry, mapping, step.maxOutputTokens) + (mapping.extraOutputTokens ?? 0)) * callsOf(step, entry),
    ...itemsOf(step, entry, mapping),
    searches: search.searches,
  };
}

function typicalUse(step: StepPlan, entry: CatalogueEntry, mapping: Mapping): PricedUse {
  const text = Math.ceil(step.textBytes / BYTES_PER_TOKEN_USUAL) + TOKENS_PER_STEP_USUAL;
  const input = text + imageTokens(step, entry) + Math.min(step.readsTokens, entry.typicalOutputTokens);
  const search = searchUse(step, entry, SEARCHES_USUAL);
  return {
    inputTokens: Math.min(entry.limits.contextTokens ?? input, input) * callsOf(step, entry) + search.inputTokens,
    cachedInputTokens: 0,
    outputTokens:
      Math.min(outputTokensMax(entry, mapping, step.maxOutputTokens), entry.typicalOutputTokens) * callsOf(step, entry),
    ...itemsOf(step, entry, mapping),
    searches: search.searches,
  };
}

/** Billed searches, and the input that is read because of them; the model's context does not bound it: it is read in turns. */
function searchUse(
  { searchesWeb = false }: StepPlan,
  { webSearch }: CatalogueEntry,
  searches: number,
): { readonly searches: number; readonly inputTokens: number } {
  if (!searchesWeb || webSearch === undefined) return { searches: 0, inputTokens: 0 };
  return { searches: billedSearches(webSearch, searches), inputTokens: searches * webSearch.inputTokens };
}

/** @param searches that were made, or at most may be. */
export function billedSearches({ per }: NonNullable<CatalogueEntry["webSearch"]>, searches: number): number {
  return per === "prompt" ? Math.min(1, searches) : searches;
}

/** The most tokens a step's text is meant to have; 0 when its model left the catalogue and the author set no limit. */
export function outputTokensOf(
  catalogue: Pick<Catalogue, "find">,
  step: Pick<StepPlan, "model" | "maxOutputTokens">,
): number {
  const entry = catalogue.find(step.model);
  return entry === null ? (step.maxOutputTokens ?? 0) : answerTokensMax(entry, step.maxOutputTokens);
}

/** Tokens that a limit of the author leaves for reasoning, and those it may take; null: half of them, or it takes none. */
export function reasoningShortage(
  entry: CatalogueEntry,
  step: Pick<StepPlan, "options" | "maxOutputTokens">,
): { readonly left: number; readonly usual: number } | null {
  if (step.maxOutputTokens === null) return null;
  const mapping = resolveMapping(entry, step.options);
  const usual = reasoningRoom(entry, mapping);
  const left = outputTokensMax(entry, mapping, step.maxOutputTokens) - step.maxOutputTokens;
  return left < Math.min(usual, entry.limits.maxOutputTokens) / 2 ? { left, usual } : null;
}

function imageTokens(step: StepPlan, entry: CatalogueEntry): number {
  return step.images * (entry.inputs?.images?.tokens ?? 0);
}

/** Each image of a step is a call of its own and sends the whole prompt again. */
function callsOf(step: StepPlan, entry: CatalogueEntry): number {
  return entry.modality === "image" ? step.count : 1;
}

function itemsOf(step: StepPlan, entry: CatalogueEntry, mapping: Mapping): { images: number; seconds: number } {
  return {
    images: entry.modality === "text" ? 0 : step.count,
    seconds: entry.modality === "video" ? (mapping.duration ?? 0) * step.count : 0,
  };
}

/** The catalogue refuses rates that a JSON number does not hold exactly. */
function storedRates({ rates, step, entry }: PricedStep): StoredRates {
  const isSearched = step.searchesWeb === true && entry.webSearch !== undefined;
  return {
    inputPer1k: Number(rates.inputPer1k),
    cachedInputPer1k: Number(rates.cachedInputPer1k),
    outputPer1k: Number(rates.outputPer1k),
    perImage: Number(rates.perImage),
    perSecond: Number(rates.perSecond),
    ...(isSearched ? { perSearch: Number(rates.perSearch) } : {}),
  };
}

function loadedRates(stored: StoredRates): PriceRates {
  return {
    inputPer1k: BigInt(stored.inputPer1k),
    cachedInputPer1k: BigInt(stored.cachedInputPer1k),
    outputPer1k: BigInt(stored.outputPer1k),
    perImage: BigInt(stored.perImage),
    perSecond: BigInt(stored.perSecond),
    perSearch: BigInt(stored.perSearch ?? 0),
  };
}

/** Tokens of a text when the provider did not count them. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN_USUAL);
}
