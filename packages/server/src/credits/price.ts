/**
 * Price arithmetic in integers. Rates are micro-credits (1 credit = 1,000,000) per unit; a sum is in
 * nano-credits, since a rate per 1,000 tokens times tokens is a thousand times too large, and is rounded once, up.
 * Floating point never touches a price: 0.1 + 0.2 credits must be 0.3 credits.
 */

/** Micro-credits per unit. */
export interface PriceRates {
  readonly inputPer1k: bigint;
  /** Part of the input that the provider had in its cache. */
  readonly cachedInputPer1k: bigint;
  /** Reasoning counts as output. */
  readonly outputPer1k: bigint;
  readonly perImage: bigint;
  readonly perSecond: bigint;
  /** A search of the web by the model. */
  readonly perSearch: bigint;
}

/** What was used, or at most can be used. Whole, not negative numbers. */
export interface PricedUse {
  readonly inputTokens: number;
  /** Included in `inputTokens`. */
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly images: number;
  readonly seconds: number;
  /** Searches of the web; absent: none was asked for. */
  readonly searches?: number;
}

const MICRO_PER_CREDIT = 1_000_000n;
const NANO_PER_CREDIT = 1_000_000_000n;
const NANO_PER_MICRO = 1_000n;
const DECIMAL = /^(?<whole>\d{1,9})(?:\.(?<part>\d{1,6}))?$/;

/** True for the form every price has: up to nine digits, and up to six after a point. */
export function isDecimal(text: string): boolean {
  return DECIMAL.test(text);
}

/**
 * Micro-credits of a decimal such as "0.175".
 * @throws RangeError for any other form.
 */
export function parseCredits(text: string): bigint {
  const { whole, part = "" } = DECIMAL.exec(text)?.groups ?? {};
  if (whole === undefined)
    throw new RangeError(`"${text}" is not a valid price: expected up to 9 digits and 6 decimals.`);
  return BigInt(whole) * MICRO_PER_CREDIT + BigInt(part.padEnd(6, "0"));
}

/** A rate times a factor, given in millionths as `parseCredits` reads it, rounded up to whole micro-credits. */
export function scaleRate(micro: bigint, factor: bigint): bigint {
  return ceilDivide(micro * factor, MICRO_PER_CREDIT);
}

/** Nano-credits of a use: exact, not rounded. */
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
 * Whole credits of a sum: nothing costs nothing, anything else is rounded up and costs at least `minimum`.
 * @throws RangeError when the number of credits is no safe integer.
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
