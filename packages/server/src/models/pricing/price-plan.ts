/** The most a run can cost, what it is expected to cost, and what it did cost. */
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

/** The parts of a prompt step that its price depends on. */
export interface StepPlan {
  readonly model: string;
  /** This step's options; an absent option has its default. */
  readonly options: Readonly<Record<string, string>>;
  /** Null: the model's usual limit. */
  readonly maxOutputTokens: number | null;
  /** The number of outputs of an image step. */
  readonly count: number;
  /** The number of input images. */
  readonly images: number;
  /** UTF-8 bytes of instructions and prompt, without earlier outputs. */
  readonly textBytes: number;
  /** The most tokens in the outputs of earlier steps that this step reads. */
  readonly readsTokens: number;
  /** Models that may answer instead. */
  readonly fallback?: readonly string[];
  /** True: its model may search the web. */
  readonly searchesWeb?: boolean;
}

export interface StepUsage {
  /** 0-based. */
  readonly step: number;
  readonly usage: Usage;
  /** The model that answered instead of the step's own; absent: the step's own model. */
  readonly model?: string;
}

/** A run's rates in micro-credits, stored as JSON in its row: later catalogue changes do not affect it. */
export interface PriceSnapshot {
  readonly v: 1;
  /** The hold, and the most that is ever captured. 0: the run is free. */
  readonly ceiling: number;
  readonly minimum: number;
  readonly steps: readonly StoredRates[];
  /** The rates of models that may answer instead of a step's own, best first; absent: there are none. */
  readonly fallbacks?: readonly { readonly step: number; readonly model: string; readonly rates: StoredRates }[];
}

/** `perSearch` is absent if the step does not search the web. */
type StoredRates = { readonly [Name in RateName]: number } & { readonly perSearch?: number };

/**
 * The most a run of these steps can cost: every input and output token, every image, every web search with its assumed
 * results, no cache, and the most expensive model of each step.
 * Half the number of bytes is an upper bound for the tokens of ordinary text, in any script.
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
    const all = [own, ...(others[index] ?? [])].map((each) => nanoCredits(each.rates, ceilingUse(each)));
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

/** The fallbacks with a price here: a model that is not in the catalogue has no price, so it is not called. */
function fallbacksOf({ model: own, fallback = [] }: StepPlan, catalogue: Catalogue): readonly string[] {
  return fallback.filter(
    (model) => model !== own && (catalogue.find(model) ?? { status: "retired" }).status !== "retired",
  );
}

/** What a run of these steps usually costs; 0 if free. Here `textBytes` is for typical inputs. */
export function priceEstimate(catalogue: Catalogue, steps: readonly StepPlan[], mainModel: string): number {
  const nano = steps
    .map((step) => priceStep(catalogue, step))
    .reduce((sum, priced) => sum + nanoCredits(priced.rates, typicalUse(priced)), 0n);
  return wholeCredits(nano, requireEntry(catalogue, mainModel).minimum);
}

/** The credits to capture for what was delivered, never more than the hold. */
export function settlePrice(prices: PriceSnapshot, delivered: readonly StepUsage[]): number {
  return Math.min(prices.ceiling, uncappedPrice(prices, delivered));
}

/** What the usage would cost without the hold's limit; the difference is the operator's loss and deserves an alert. */
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

/** The prices in the catalogue, of which there are few. Parsing them took 2% of a run (measured 2026-11). */
const parsedPrices = new Map<string, bigint>();

function parsePrice(text: string): bigint {
  const parsed = parsedPrices.get(text) ?? parseCredits(text);
  parsedPrices.set(text, parsed);
  return parsed;
}

/** The entry's prices, overridden by the chosen options' prices, times a factor: by default, the operator's. */
export function ratesOf(entry: CatalogueEntry, mapping: Mapping, priceFactor = entry.priceFactor): PriceRates {
  const { minimum: _minimum, ...base } = entry.price;
  const texts = { ...base, ...mapping.price };
  const factor = parsePrice(priceFactor);
  const rate = (text: string | undefined): bigint => (text === undefined ? 0n : scaleRate(parsePrice(text), factor));
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

function ceilingUse(priced: PricedStep): PricedUse {
  const { step, entry, mapping } = priced;
  return useOf(priced, {
    textTokens: Math.ceil(step.textBytes / BYTES_PER_TOKEN_LEAST) + TOKENS_BESIDE_THE_TEXT,
    readsTokens: step.readsTokens,
    outputTokens: outputTokensMax(entry, mapping, step.maxOutputTokens) + (mapping.extraOutputTokens ?? 0),
    searches: entry.webSearch?.searchesMax ?? 0,
  });
}

function typicalUse(priced: PricedStep): PricedUse {
  const { step, entry, mapping } = priced;
  return useOf(priced, {
    textTokens: Math.ceil(step.textBytes / BYTES_PER_TOKEN_USUAL) + TOKENS_PER_STEP_USUAL,
    readsTokens: Math.min(step.readsTokens, entry.typicalOutputTokens),
    outputTokens: Math.min(outputTokensMax(entry, mapping, step.maxOutputTokens), entry.typicalOutputTokens),
    searches: SEARCHES_USUAL,
  });
}

/** @param call the tokens of each call, and the searches of the step. */
function useOf(
  { step, entry, mapping }: PricedStep,
  call: { readonly [Name in "textTokens" | "readsTokens" | "outputTokens" | "searches"]: number },
): PricedUse {
  const input = call.textTokens + imageTokens(step, entry) + call.readsTokens;
  const search = searchUse(step, entry, call.searches);
  const calls = entry.modality === "image" ? step.count : 1; // each image is a call of its own and sends the whole prompt
  return {
    inputTokens: Math.min(entry.limits.contextTokens ?? input, input) * calls + search.inputTokens,
    cachedInputTokens: 0,
    outputTokens: call.outputTokens * calls,
    images: entry.modality === "text" ? 0 : step.count,
    seconds: entry.modality === "video" ? (mapping.duration ?? 0) * step.count : 0,
    searches: search.searches,
  };
}

/** Billed searches and the input they add. The model's context does not limit that input, since it is read in turns. */
function searchUse(
  { searchesWeb = false }: StepPlan,
  { webSearch }: CatalogueEntry,
  searches: number,
): { readonly searches: number; readonly inputTokens: number } {
  if (!searchesWeb || webSearch === undefined) return { searches: 0, inputTokens: 0 };
  return { searches: billedSearches(webSearch, searches), inputTokens: searches * webSearch.inputTokens };
}

/** @param searches made, or the most that may be made. */
export function billedSearches({ per }: NonNullable<CatalogueEntry["webSearch"]>, searches: number): number {
  return per === "prompt" ? Math.min(1, searches) : searches;
}

/** The most tokens a step's text should have; 0 if its model left the catalogue and the author set no limit. */
export function outputTokensOf(
  catalogue: Pick<Catalogue, "find">,
  step: Pick<StepPlan, "model" | "maxOutputTokens">,
): number {
  const entry = catalogue.find(step.model);
  return entry === null ? (step.maxOutputTokens ?? 0) : answerTokensMax(entry, step.maxOutputTokens);
}

/**
 * How many tokens the author's limit leaves for reasoning, and how many it usually needs. Null: the author set no
 * limit, at least half of what is usually needed is left, or none is needed.
 */
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

/** JSON numbers are exact here: the catalogue rejects rates that would not be. */
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

/** Estimates the tokens of a text if the provider did not count them. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN_USUAL);
}
