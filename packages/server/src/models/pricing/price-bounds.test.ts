/** The arithmetic of holds, captures, and estimates for every catalogue model, and at the largest prices. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { resolveMapping, loadCatalogue, type Catalogue, type CatalogueEntry } from "../catalogue/catalogue.ts";
import { priceCeiling, priceEstimate, settlePrice, uncappedPrice, type StepPlan } from "./price-plan.ts";
import { outputTokensMax } from "./output-limit.ts";
import { NO_USAGE, costMicro } from "./usage.ts";

const shipped = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });

function withOverlay(overlay: object): Catalogue {
  const directory = mkdtempSync(join(tmpdir(), "promptd-prices-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const overlayFile = join(directory, "models.json");
  writeFileSync(overlayFile, JSON.stringify({ formatVersion: 1, ...overlay }));
  return loadCatalogue({ overlayFile, hasSecret: () => true, sandbox: true });
}

/** A possible step of a prompt: options, count, images, and lengths within what the entry allows. */
function stepsOf(entry: CatalogueEntry): fc.Arbitrary<StepPlan> {
  const options = Object.entries(entry.runOptions).map(([key, { values }]) =>
    fc.tuple(fc.constant(key), fc.constantFrom(...Object.keys(values))),
  );
  return fc.record({
    model: fc.constant(entry.model),
    options: fc.tuple(...options).map((chosen) => Object.fromEntries(chosen)),
    maxOutputTokens:
      entry.modality === "text"
        ? fc.option(fc.integer({ min: 1, max: entry.limits.maxOutputTokens }), { nil: null })
        : fc.constant(null),
    count: entry.modality === "image" ? fc.integer({ min: 1, max: 4 }) : fc.constant(1),
    images: fc.integer({ min: 0, max: entry.inputs?.images?.max ?? 0 }),
    textBytes: fc.integer({ min: 0, max: 4_000_000 }),
    readsTokens: fc.integer({ min: 0, max: 200_000 }),
  });
}
const anyStep = (catalogue: Catalogue) => fc.constantFrom(...catalogue.entries).chain(stepsOf);
const anySteps = fc.array(anyStep(shipped), { minLength: 1, maxLength: 5 });
const tokens = fc.integer({ min: 0, max: 1_000_000_000 });

/** The most that one step's items may use by its entry's limits, computed independently of the code under test. */
function most(catalogue: Catalogue, plan: StepPlan, share: number) {
  const entry = catalogue.find(plan.model);
  if (entry === null) throw new Error(plan.model);
  const { limits, inputs, modality } = entry;
  const mapping = resolveMapping(entry, plan.options);
  const calls = modality === "image" ? plan.count : 1;
  const prompt = plan.textBytes / 2 + plan.readsTokens + plan.images * (inputs?.images?.tokens ?? 0);
  const output = outputTokensMax(entry, mapping, plan.maxOutputTokens) + (mapping.extraOutputTokens ?? 0);
  const inputTokens = calls * Math.floor(Math.min(prompt, limits.contextTokens ?? Infinity) * share);
  return {
    ...NO_USAGE,
    inputTokens,
    outputTokens: calls * Math.floor(output * share),
    images: modality === "text" ? 0 : plan.count,
    seconds: modality === "video" ? (mapping.duration ?? 0) : 0,
  };
}

describe("a hold", () => {
  test("covers everything the steps may use within their limits, so that nothing is cut off", () => {
    const part = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(anySteps, part, (steps, share) => {
        const { credits, prices } = priceCeiling(shipped, steps, steps[0]?.model ?? "");
        const used = steps.map((plan, step) => ({ step, usage: most(shipped, plan, share) }));
        expect(uncappedPrice(prices, used)).toBeLessThanOrEqual(credits);
      }),
      { numRuns: 500 },
    );
  });

  test("is a whole number, never below the estimate, and never below what is captured", () => {
    fc.assert(
      fc.property(anySteps, tokens, tokens, (steps, inputTokens, outputTokens) => {
        const main = steps[0]?.model ?? "";
        const { credits, prices } = priceCeiling(shipped, steps, main);
        const estimate = priceEstimate(shipped, steps, main);
        const usage = {
          ...NO_USAGE,
          inputTokens,
          cachedInputTokens: inputTokens,
          outputTokens,
          images: 4,
          seconds: 60,
        };
        const captured = settlePrice(
          JSON.parse(JSON.stringify(prices)) as typeof prices,
          steps.map((_, step) => ({ step, usage })),
        );
        expect([credits, estimate, captured].every(Number.isSafeInteger)).toBe(true);
        expect(estimate).toBeLessThanOrEqual(credits);
        expect(captured).toBeLessThanOrEqual(credits);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the largest prices", () => {
  const dearest = "999999999.999999";
  const price = {
    inputPer1k: dearest,
    cachedInputPer1k: dearest,
    outputPer1k: dearest,
    perImage: dearest,
    minimum: 1_000_000,
  };
  const models = [
    { model: "sandbox/text", price },
    {
      model: "sandbox/image",
      price: { ...price, perImage: undefined },
      runOptions: { quality: { default: "high", values: { high: { price: { perImage: dearest } } } } },
    },
    { model: "sandbox/video", price: { ...price, perSecond: dearest } },
  ];

  test("overflow nowhere: hold, capture, and the round trip through JSON stay exact integers", () => {
    const catalogue = withOverlay({ models, priceFactor: "9" });
    fc.assert(
      fc.property(
        fc.array(
          anyStep(catalogue).filter((one) => models.some(({ model }) => model === one.model)),
          { minLength: 1, maxLength: 10 },
        ),
        (steps) => {
          const { credits, prices } = priceCeiling(catalogue, steps, "sandbox/text");
          expect(Number.isSafeInteger(credits)).toBe(true);
          for (const rates of prices.steps)
            for (const rate of Object.values(rates)) expect(Number.isSafeInteger(rate)).toBe(true);
          const used = steps.map((plan, step) => ({ step, usage: most(catalogue, plan, 1) }));
          expect(uncappedPrice(JSON.parse(JSON.stringify(prices)) as typeof prices, used)).toBeLessThanOrEqual(credits);
        },
      ),
      { numRuns: 50 },
    );
  });

  test("times a factor beyond exact JSON numbers are a fault at startup", () => {
    expect(() => withOverlay({ models, priceFactor: "10" })).toThrow(
      /sandbox\/text: a price multiplied by the priceFactor 10 /,
    );
  });

  test("times a provider's absurd count are recorded as the largest cost that the database can hold", () => {
    const entry = withOverlay({ models }).find("sandbox/text");
    if (entry === null) throw new Error("no entry");
    const usage = { ...NO_USAGE, inputTokens: 1_000_000_000, outputTokens: 1_000_000_000 };
    expect(costMicro(entry, {}, usage)).toBe(Number.MAX_SAFE_INTEGER);
  });
});
