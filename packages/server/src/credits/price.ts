/**
 * Price arithmetic in integers. Rates are in micro-credits (1 credit = 1,000,000) per unit. Sums are in nano-credits,
 * because a rate per 1,000 tokens times tokens is a thousand times too large. A sum is rounded once, up. Prices never
 * use floating point: 0.1 + 0.2 credits must be 0.3 credits.
 */

/** Micro-credits per unit. */
export interface PriceRates {
  readonly inputPer1k: bigint;
  /** Input that the provider had in its cache. */
  readonly cachedInputPer1k: bigint;
  /** Reasoning counts as output. */
  readonly outputPer1k: bigint;
  readonly perImage: bigint;
  readonly perSecond: bigint;
  /** A web search by the model. */
  readonly perSearch: bigint;
}

/** What was used, or the most that can be used. Non-negative integers. */
export interface PricedUse {
  readonly inputTokens: number;
  /** Included in `inputTokens`. */
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly images: number;
  readonly seconds: number;
  /** Web searches; absent: none requested. */
  readonly searches?: number;
}

const MICRO_PER_CREDIT = 1_000_000n;
const NANO_PER_CREDIT = 1_000_000_000n;
const NANO_PER_MICRO = 1_000n;
const DECIMAL = /^(?<whole>\d{1,9})(?:\.(?<part>\d{1,6}))?$/;

/** Whether the text has the form of a price: up to nine digits, and up to six more after a decimal point. */
export function isDecimal(text: string): boolean {
  return DECIMAL.test(text);
}

/**
 * Parses a decimal such as "0.175" into micro-credits.
 * @throws RangeError for any other form.
 */
export function parseCredits(text: string): bigint {
  const { whole, part = "" } = DECIMAL.exec(text)?.groups ?? {};
  if (whole === undefined)
    throw new RangeError(`"${text}" is not a valid price: expected up to 9 digits and up to 6 decimals.`);
  return BigInt(whole) * MICRO_PER_CREDIT + BigInt(part.padEnd(6, "0"));
}

/** Multiplies a rate by a factor in millionths, as `parseCredits` returns it; rounds up to whole micro-credits. */
export function scaleRate(micro: bigint, factor: bigint): bigint {
  return ceilDivide(micro * factor, MICRO_PER_CREDIT);
}

/** Returns the exact price of a use in nano-credits, not rounded. */
export function nanoCredits(rates: PriceRates, use: PricedUse): bigint {
  const input = BigInt(use.inputTokens);
  const cached = BigInt(Math.min(use.cachedInputTokens, use.inputTokens));
  const perUnit =
    BigInt(use.images) * rates.perImage +
    BigInt(use.seconds) * rates.perSecond +
    BigInt(use.searches ?? 0) * rates.perSearch;
  return (
    (input - cached) * rates.inputPer1k +
    cached * rates.cachedInputPer1k +
    BigInt(use.outputTokens) * rates.outputPer1k +
    NANO_PER_MICRO * perUnit
  );
}

/**
 * Converts a sum to whole credits: 0 stays 0, and anything else is rounded up and costs at least `minimum`.
 * @throws RangeError if the number of credits is not a safe integer.
 */
export function wholeCredits(nano: bigint, minimum: number): number {
  if (nano === 0n) return 0;
  const credits = Number(ceilDivide(nano, NANO_PER_CREDIT));
  if (!Number.isSafeInteger(credits)) throw new RangeError("The price is larger than any balance can be.");
  return Math.max(minimum, credits);
}

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
