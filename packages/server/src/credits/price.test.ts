import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isDecimal, nanoCredits, parseCredits, scaleRate, wholeCredits, type PriceRates } from "./price.ts";

/** An exact fraction, independent of the code under test: prices as numerator over denominator, summed and rounded. */
interface Fraction {
  readonly top: bigint;
  readonly bottom: bigint;
}
const add = (a: Fraction, b: Fraction): Fraction => ({
  top: a.top * b.bottom + b.top * a.bottom,
  bottom: a.bottom * b.bottom,
});
const times = (a: Fraction, b: Fraction): Fraction => ({ top: a.top * b.top, bottom: a.bottom * b.bottom });
const whole = (value: number): Fraction => ({ top: BigInt(value), bottom: 1n });
const perThousand = (tokens: number): Fraction => ({ top: BigInt(tokens), bottom: 1_000n });
function fraction(text: string): Fraction {
  const [before = "0", after = ""] = text.split(".");
  return { top: BigInt(before + after), bottom: 10n ** BigInt(after.length) };
}

const decimal = fc
  .tuple(fc.integer({ min: 0, max: 999_999_999 }), fc.option(fc.stringMatching(/^\d{1,6}$/), { nil: null }))
  .map(([before, after]) => (after === null ? String(before) : `${before}.${after}`));
const amount = fc.integer({ min: 0, max: 5_000_000 });
const use = fc
  .record({
    inputTokens: amount,
    cachedInputTokens: amount,
    outputTokens: amount,
    images: fc.integer({ min: 0, max: 100 }),
    seconds: fc.integer({ min: 0, max: 3_600 }),
    searches: fc.integer({ min: 0, max: 20 }),
  })
  .map((drawn) => ({ ...drawn, cachedInputTokens: Math.min(drawn.cachedInputTokens, drawn.inputTokens) }));
const texts = fc.record({
  inputPer1k: decimal,
  cachedInputPer1k: decimal,
  outputPer1k: decimal,
  perImage: decimal,
  perSecond: decimal,
  perSearch: decimal,
});

function ratesOf(prices: Record<keyof PriceRates, string>): PriceRates {
  return {
    inputPer1k: parseCredits(prices.inputPer1k),
    cachedInputPer1k: parseCredits(prices.cachedInputPer1k),
    outputPer1k: parseCredits(prices.outputPer1k),
    perImage: parseCredits(prices.perImage),
    perSecond: parseCredits(prices.perSecond),
    perSearch: parseCredits(prices.perSearch),
  };
}

describe("a price", () => {
  test("equals the exact sum of fractions, rounded up once", () => {
    fc.assert(
      fc.property(texts, use, (prices, used) => {
        const exact = [
          times(perThousand(used.inputTokens - used.cachedInputTokens), fraction(prices.inputPer1k)),
          times(perThousand(used.cachedInputTokens), fraction(prices.cachedInputPer1k)),
          times(perThousand(used.outputTokens), fraction(prices.outputPer1k)),
          times(whole(used.images), fraction(prices.perImage)),
          times(whole(used.seconds), fraction(prices.perSecond)),
          times(whole(used.searches), fraction(prices.perSearch)),
        ].reduce(add);
        const expected = exact.top / exact.bottom + (exact.top % exact.bottom === 0n ? 0n : 1n);
        expect(wholeCredits(nanoCredits(ratesOf(prices), used), 0)).toBe(Number(expected));
      }),
    );
  });

  test("never decreases when more is used", () => {
    fc.assert(
      fc.property(texts, use, use, (prices, less, extra) => {
        const rates = ratesOf(prices);
        const more = {
          inputTokens: less.inputTokens + extra.inputTokens,
          cachedInputTokens: less.cachedInputTokens,
          outputTokens: less.outputTokens + extra.outputTokens,
          images: less.images + extra.images,
          seconds: less.seconds + extra.seconds,
          searches: less.searches + extra.searches,
        };
        expect(nanoCredits(rates, more)).toBeGreaterThanOrEqual(nanoCredits(rates, less));
      }),
    );
  });

  test("of no use, or at rates of zero, is 0 and not the minimum", () => {
    const used = { inputTokens: 9_000, cachedInputTokens: 0, outputTokens: 9_000, images: 9, seconds: 9 };
    const free = { inputPer1k: 0n, cachedInputPer1k: 0n, outputPer1k: 0n, perImage: 0n, perSecond: 0n, perSearch: 0n };
    expect(wholeCredits(nanoCredits(free, used), 5)).toBe(0);
  });

  test("of the smallest use is the minimum", () => {
    expect(wholeCredits(1n, 1)).toBe(1);
    expect(wholeCredits(1n, 7)).toBe(7);
    expect(wholeCredits(1_000_000_001n, 1)).toBe(2);
    expect(wholeCredits(1_000_000_000n, 1)).toBe(1);
  });

  test("that is larger than any balance is refused and does not lose digits", () => {
    expect(() => wholeCredits(2n ** 90n, 1)).toThrow(RangeError);
  });
});

describe("a decimal price", () => {
  test("is parsed digit by digit", () => {
    expect(parseCredits("0.175")).toBe(175_000n);
    expect(parseCredits("1")).toBe(1_000_000n);
    expect(parseCredits("999999999.999999")).toBe(999_999_999_999_999n);
  });

  test.each(["", "1.", ".5", "-1", "+1", "1e3", "1,5", "1.1234567", "1234567890", " 1", "0x1", "NaN"])(
    "is refused when written as %j",
    (text) => {
      expect(isDecimal(text)).toBe(false);
      expect(() => parseCredits(text)).toThrow(RangeError);
    },
  );

  test("multiplied by a factor is rounded up to a whole micro-credit", () => {
    expect(scaleRate(175_000n, parseCredits("1.5"))).toBe(262_500n);
    expect(scaleRate(1n, 1n)).toBe(1n);
    expect(scaleRate(0n, parseCredits("3"))).toBe(0n);
  });
});
