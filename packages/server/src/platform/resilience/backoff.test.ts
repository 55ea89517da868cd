import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fullJitterDelayMs } from "./backoff.ts";

test("a delay is a whole number of milliseconds below the doubled base and the cap", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000 }),
      fc.integer({ min: 1, max: 10_000 }),
      fc.integer({ min: 1, max: 100_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, baseMs, capMs, chance) => {
        const delay = fullJitterDelayMs(attempt, { baseMs, capMs }, () => chance);
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThan(Math.min(capMs, baseMs * 2 ** Math.min(attempt - 1, 40)));
      },
    ),
  );
});

test("the span doubles with every failed attempt until the cap", () => {
  const spans = [1, 2, 3, 4, 5, 6, 7].map((attempt) =>
    fullJitterDelayMs(attempt, { baseMs: 1_000, capMs: 30_000 }, () => 0.5),
  );
  expect(spans).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
});
