import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadCatalogue } from "../catalogue/catalogue.ts";
import { priceCeiling, priceEstimate, settlePrice, uncappedPrice, type StepPlan } from "./price-plan.ts";
import type { Usage } from "../providers/failure.ts";

const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });
const MODELS = ["sandbox/text", "sandbox/text-free", "sandbox/image", "sandbox/video", "anthropic/claude-haiku-4-5"];

const step = (change: Partial<StepPlan> = {}): StepPlan => ({
  model: "sandbox/text",
  options: {},
  maxOutputTokens: null,
  count: 1,
  images: 0,
  textBytes: 1_000,
  readsTokens: 0,
  ...change,
});
const usage = (change: Partial<Usage> = {}): Usage => ({
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  images: 0,
  seconds: 0,
  isEstimated: false,
  ...change,
});

describe("a step with fallbacks", () => {
  const cheap = "sandbox/text";
  const dear = "anthropic/claude-haiku-4-5";
  const withFallback = (model: string, fallback: readonly string[]) =>
    priceCeiling(catalogue, [step({ model, fallback, maxOutputTokens: 1_000, textBytes: 100_000 })], model);
  const own = (model: string) => withFallback(model, []).credits;

  test("holds what its most expensive model can cost, wherever that is in the list", () => {
    const most = Math.max(own(cheap), own(dear));
    expect(withFallback(cheap, [dear]).credits).toBe(most);
    expect(withFallback(dear, ["sandbox/text-free", cheap]).credits).toBe(most);
  });

  test("costs what the model that answered costs, and at most the hold", () => {
    const { prices } = withFallback("sandbox/text-free", ["sandbox/text"]);
    const used = usage({ inputTokens: 10_000, outputTokens: 1_000 });
    // 10,000 * 0.1 / 1000 + 1,000 * 0.5 / 1000 = 1.5 credits
    expect(settlePrice(prices, [{ step: 0, usage: used, model: "sandbox/text" }])).toBe(2);
    expect(settlePrice(prices, [{ step: 0, usage: used }])).toBe(0);
  });

  test("has no price for a model that is not in the catalogue, so that it is not called", () => {
    expect(withFallback(cheap, ["gone/model"]).prices).not.toHaveProperty("fallbacks");
  });
});

describe("a hold", () => {
  test("covers half the bytes as tokens, the whole output, and 64 more tokens", () => {
    // (500 + 64) * 0.1 / 1000 + 2048 * 0.5 / 1000 = 1.0804 credits
    expect(priceCeiling(catalogue, [step({ maxOutputTokens: 2_048 })], "sandbox/text").credits).toBe(2);
    // (500 + 64) * 0.1 / 1000 + 1800 * 0.5 / 1000 = 0.9564 credits
    expect(priceCeiling(catalogue, [step({ maxOutputTokens: 1_800 })], "sandbox/text").credits).toBe(1);
  });

  test("covers the usual output, which is less than the model's limit, if the author set no limit", () => {
    // (500 + 64) * 0.1 / 1000 + 1536 * 0.5 / 1000 = 0.8244 credits
    expect(priceCeiling(catalogue, [step()], "sandbox/text").credits).toBe(1);
  });

  test("covers every image, every second, and the thinking budget of the chosen option", () => {
    expect(priceCeiling(catalogue, [step({ model: "sandbox/image", count: 3 })], "sandbox/image").credits).toBe(12);
    const video = step({ model: "sandbox/video", options: { seconds: "4" } });
    expect(priceCeiling(catalogue, [video], "sandbox/video").credits).toBe(20);
    const thinking = (value: string) =>
      priceCeiling(
        catalogue,
        [step({ model: "anthropic/claude-haiku-4-5", options: { reasoningEffort: value } })],
        "sandbox/text",
      ).credits;
    expect(thinking("high") - thinking("low")).toBe(16); // 32,000 more tokens at 0.5 per 1,000
  });

  test("of free models is 0, even if the minimum is not", () => {
    expect(priceCeiling(catalogue, [step({ model: "sandbox/text-free" })], "sandbox/text-free")).toMatchObject({
      credits: 0,
    });
  });

  test("sums all steps before rounding once", () => {
    const small = step({ textBytes: 0, maxOutputTokens: 100 });
    expect(
      priceCeiling(
        catalogue,
        Array.from({ length: 10 }, () => small),
        "sandbox/text",
      ).credits,
    ).toBe(1);
  });
});

describe("a capture", () => {
  const plan = fc.record({
    model: fc.constantFrom(...MODELS),
    options: fc.constantFrom<Record<string, string>>(
      {},
      { reasoningEffort: "high" },
      { quality: "high" },
      { seconds: "4" },
    ),
    maxOutputTokens: fc.option(fc.integer({ min: 1, max: 2_048 }), { nil: null }),
    count: fc.integer({ min: 1, max: 4 }),
    images: fc.integer({ min: 0, max: 8 }),
    textBytes: fc.integer({ min: 0, max: 2_000_000 }),
    readsTokens: fc.integer({ min: 0, max: 10_000 }),
  });
  const use = fc.record({
    inputTokens: fc.integer({ min: 0, max: 1_000_000 }),
    cachedInputTokens: fc.integer({ min: 0, max: 1_000_000 }),
    outputTokens: fc.integer({ min: 0, max: 1_000_000 }),
    images: fc.integer({ min: 0, max: 5 }),
    seconds: fc.integer({ min: 0, max: 20 }),
  });

  test("is never more than the hold, and survives the round trip through JSON", () => {
    fc.assert(
      fc.property(fc.array(plan, { minLength: 1, maxLength: 4 }), use, (steps, used) => {
        const { credits, prices } = priceCeiling(catalogue, steps, steps[0]?.model ?? "");
        const stored = JSON.parse(JSON.stringify(prices)) as typeof prices;
        const delivered = steps.map((_, index) => ({ step: index, usage: usage(used) }));
        const captured = settlePrice(stored, delivered);
        expect(captured).toBeLessThanOrEqual(credits);
        expect(captured).toBe(Math.min(credits, uncappedPrice(prices, delivered)));
      }),
    );
  });

  test("of the promised maximum is the hold itself", () => {
    const { credits, prices } = priceCeiling(catalogue, [step()], "sandbox/text");
    expect(settlePrice(prices, [{ step: 0, usage: usage({ inputTokens: 564, outputTokens: 2_048 }) }])).toBe(credits);
  });

  test("counts only delivered items, and nothing delivered costs nothing", () => {
    const { prices } = priceCeiling(catalogue, [step({ model: "sandbox/image", count: 4 })], "sandbox/image");
    const item = { step: 0, usage: usage({ images: 1 }) };
    expect(settlePrice(prices, [item, item])).toBe(8);
    expect(settlePrice(prices, [])).toBe(0);
  });

  test("of tiny usage is the main model's minimum", () => {
    const { prices } = priceCeiling(catalogue, [step()], "sandbox/text");
    expect(settlePrice(prices, [{ step: 0, usage: usage({ inputTokens: 1 }) }])).toBe(1);
  });

  test("charges cached input at its own rate", () => {
    const { prices } = priceCeiling(
      catalogue,
      [step({ model: "anthropic/claude-haiku-4-5", textBytes: 2_000_000 })],
      "sandbox/text",
    );
    const cached = (tokens: number) =>
      uncappedPrice(prices, [{ step: 0, usage: usage({ inputTokens: 100_000, cachedInputTokens: tokens }) }]);
    expect([cached(0), cached(100_000)]).toEqual([10, 1]);
  });
});

test("an estimate is never above the hold", () => {
  fc.assert(
    fc.property(fc.constantFrom(...MODELS), fc.integer({ min: 0, max: 100_000 }), (model, textBytes) => {
      const steps = [step({ model, textBytes })];
      expect(priceEstimate(catalogue, steps, model)).toBeLessThanOrEqual(priceCeiling(catalogue, steps, model).credits);
    }),
  );
});

describe("a step that may search the web", () => {
  const model = "sandbox/text"; // 3 searches at most, 1 credit each, 500 tokens of input at 0.1 credits for 1,000
  const priced = (change: Partial<StepPlan>) =>
    priceCeiling(catalogue, [step({ model, maxOutputTokens: 1_000, ...change })], model);
  const searching = priced({ searchesWeb: true });

  test("holds every search that it may make, with the input they add", () => {
    // (1,000 / 2 + 64) * 0.1 / 1000 + 1,000 * 0.5 / 1000 = 0.56; with 3 searches + 3 * 500 * 0.1 / 1000 = 3.71
    expect([priced({}).credits, searching.credits]).toEqual([1, 4]);
  });

  test("is estimated with one search", () => {
    const estimate = (change: Partial<StepPlan>) => priceEstimate(catalogue, [step({ model, ...change })], model);
    expect([estimate({}), estimate({ searchesWeb: true })]).toEqual([1, 2]);
  });

  test.each([
    [0, 1],
    [1, 2],
    [2, 3],
    [50, 4], // what was held
  ])("that searched %i times costs %i credits", (searches, credits) => {
    const used = usage({ inputTokens: 1_000, outputTokens: 100, searches });
    expect(settlePrice(searching.prices, [{ step: 0, usage: used }])).toBe(credits);
  });

  test("that a fallback answered costs the fallback's price", () => {
    const dear = "google/gemini-2.5-flash-lite"; // 3.5 credits, however often it searches
    const { prices } = priced({ searchesWeb: true, fallback: [dear] });
    const used = usage({ inputTokens: 1_000, outputTokens: 100, searches: 1 });
    expect(settlePrice(prices, [{ step: 0, usage: used, model: dear }])).toBe(4);
  });

  test("changes nothing for other steps: a price without searches is stored and read as before", () => {
    const { prices } = priced({});
    expect(prices.steps[0]).not.toHaveProperty("perSearch");
    const used = usage({ inputTokens: 1_000, outputTokens: 100, searches: 2 });
    expect(settlePrice(prices, [{ step: 0, usage: used }])).toBe(1);
  });
});
