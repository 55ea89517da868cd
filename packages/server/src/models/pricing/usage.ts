/** Usage reported by providers, made safe: a hostile or broken server may report negative, huge, or no numbers. */
import { Buffer } from "node:buffer";
import { nanoCredits } from "../../credits/index.ts";
import type { Mapping } from "../catalogue/option-mapping.ts";
import type { CatalogueEntry } from "../catalogue/catalogue.ts";
import type { Usage } from "../providers/failure.ts";
import { billedSearches, estimateTokens, ratesOf } from "./price-plan.ts";

/** More than any real model's context; anything above is a broken count that would only overflow sums. */
const TOKENS_MAX = 1_000_000_000;

export const NO_USAGE: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  images: 0,
  seconds: 0,
  isEstimated: false,
};

/** The parts of a call that its usage depends on. */
interface MeteredCall {
  readonly entry: Pick<CatalogueEntry, "inputs">;
  readonly instructions: string;
  readonly prompt: string;
  readonly images: readonly { readonly bytes: Uint8Array }[];
}

/** The provider's token counts, or bytes / 4 where a count is missing. A count of 0 for a nonempty text counts as missing. */
export function textUsage(
  reported: { readonly [Name in "inputTokens" | "cachedInputTokens" | "outputTokens"]?: number | undefined },
  call: MeteredCall,
  text: string,
): Usage {
  const input = tokens(reported.inputTokens) || null;
  const output = text === "" ? tokens(reported.outputTokens) : tokens(reported.outputTokens) || null;
  const images = call.images.length * (call.entry.inputs?.images?.tokens ?? 0);
  const inputTokens = input ?? estimateTokens(call.instructions + call.prompt) + images;
  return {
    ...NO_USAGE,
    inputTokens,
    cachedInputTokens: Math.min(inputTokens, tokens(reported.cachedInputTokens) ?? 0),
    outputTokens: output ?? estimateTokens(text),
    isEstimated: input === null || output === null,
  };
}

/** No answer searches more often; anything above is a broken count. */
const SEARCHES_MAX = 1_000;

/** Adds the billed searches. @param reported null: the provider does not say, which counts as one. */
export function withSearches(usage: Usage, { webSearch }: CatalogueEntry, reported: number | null): Usage {
  if (webSearch === undefined) return usage;
  const searches = Math.min(tokens(reported ?? 1) ?? 1, SEARCHES_MAX);
  return { ...usage, searches: billedSearches(webSearch, searches) };
}

/** Many image providers report nothing: then the image itself is counted, and its input images as the catalogue says. */
export function imageUsage(
  reported: { readonly inputTokens?: number | undefined; readonly outputTokens?: number | undefined } | undefined,
  call: Pick<MeteredCall, "images" | "entry">,
): Usage {
  const input = tokens(reported?.inputTokens);
  const perImage = call.entry.inputs?.images?.tokens ?? 0;
  return {
    ...NO_USAGE,
    inputTokens: input ?? call.images.length * perImage,
    outputTokens: tokens(reported?.outputTokens) ?? 0,
    images: 1,
    isEstimated: input === null && call.images.length * perImage > 0,
  };
}

/** No provider reports seconds, so the ordered duration counts. A clip also counts once, for a fixed price. */
export function videoUsage(mapping: Mapping): Usage {
  return { ...NO_USAGE, images: 1, seconds: mapping.duration ?? 0 };
}

function tokens(count: number | undefined): number | null {
  if (count === undefined || !Number.isFinite(count) || count < 0) return null;
  return Math.min(Math.ceil(count), TOKENS_MAX);
}

/**
 * The memory that a call adds: the connection, and each image as Base64 and as parts of a request that a package writes
 * out twice (5.4 MB per 1 MB image, of which 1 MB is the run's own; measured 2026-11).
 */
export function callBytes(call: Pick<MeteredCall, "images" | "prompt" | "instructions">): number {
  const images = call.images.reduce((sum, image) => sum + image.bytes.byteLength, 0);
  return 65_536 + 5 * images + 2 * Buffer.byteLength(call.prompt + call.instructions);
}

const NANO_PER_MICRO = 1_000n;

const COST_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * What one call cost at the catalogue's prices, in micro-credits, rounded up, for the operator's record. A provider's
 * broken count times a high price is capped: a number too large for the column would make the whole batch fail.
 */
export function costMicro(entry: CatalogueEntry, mapping: Mapping, usage: Usage): number {
  const rates = ratesOf(entry, mapping, "1");
  const micro = (nanoCredits(rates, usage) + NANO_PER_MICRO - 1n) / NANO_PER_MICRO;
  return Number(micro > COST_MAX ? COST_MAX : micro);
}
