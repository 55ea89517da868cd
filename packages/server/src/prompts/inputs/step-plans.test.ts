import { describe, expect, test } from "vitest";
import { priceCeiling } from "../../models/index.ts";
import { estimatePrices } from "../publishing/estimates.ts";
import {
  catalogue,
  liveVersion,
  PENCIL_PORTRAIT,
  STORY_COVER,
  TEA_POEM,
  textPrompt,
} from "../../../test/prompts/prompt-fixtures.ts";
import { planSteps, stepOptions, type PlannedVersion } from "./step-plans.ts";

const TWO_IMAGES = `---
promptd: 1
title: Two images
model: sandbox/image
options: { quality: low }
steps:
  small: { options: { size: 256x256 } }
  large: { options: { size: 1024x1024 }, count: 3 }
---
<!-- step: small -->
A sketch
<!-- step: large -->
A painting
`;

describe("options of a step", () => {
  test("every step uses the author's choice until the caller chooses something else", () => {
    const version = liveVersion(TWO_IMAGES);
    const defaults = { quality: "low", size: "1024x1024" };
    expect(stepOptions(version, 0, defaults, catalogue)).toEqual({ quality: "low", size: "256x256" });
    expect(stepOptions(version, 1, defaults, catalogue)).toEqual({ quality: "low", size: "1024x1024" });
  });

  test("the caller's choice applies to every step with the prompt's model", () => {
    const version = liveVersion(TWO_IMAGES);
    const chosen = { quality: "high", size: "512x512" };
    expect([0, 1].map((step) => stepOptions(version, step, chosen, catalogue))).toEqual([chosen, chosen]);
  });

  test("a step with another model keeps the file's options, with defaults from its own catalogue entry", () => {
    expect(stepOptions(liveVersion(STORY_COVER), 0, { quality: "high" }, catalogue)).toEqual({
      reasoningEffort: "medium",
    });
  });
});

describe("plans", () => {
  test("a plan counts the bytes of the rendered text, in UTF-8", () => {
    const [plan] = planSteps(liveVersion(textPrompt("{{ a }}!")), { a: "ữ" }, {}, catalogue);
    expect(plan).toMatchObject({ model: "sandbox/text", textBytes: 4, images: 0, count: 1, readsTokens: 0 });
  });

  test("a step that reads an earlier step is planned with the maximum tokens of that step's output", () => {
    const plans = planSteps(liveVersion(STORY_COVER), { hero: "Bo" }, {}, catalogue);
    expect(plans.map((plan) => plan.readsTokens)).toEqual([0, 300]);
  });

  test("images and counts come from the step", () => {
    expect(planSteps(liveVersion(PENCIL_PORTRAIT), {}, {}, catalogue)[0]?.images).toBe(1);
    expect(planSteps(liveVersion(TWO_IMAGES), {}, {}, catalogue).map((plan) => plan.count)).toEqual([1, 3]);
  });
});

describe("estimates", () => {
  const estimateOf = (version: PlannedVersion): number => estimatePrices(version, catalogue).estimatedCredits;

  test("an estimate is the price of a typical run: at least 1, at most the hold, and 0 only if the model is free", () => {
    for (const file of [TEA_POEM, PENCIL_PORTRAIT, STORY_COVER, TWO_IMAGES]) {
      const version = liveVersion(file);
      const values = Object.fromEntries(version.definition.inputs.map((input) => [input.key, "x".repeat(200)]));
      const hold = priceCeiling(catalogue, planSteps(version, values, {}, catalogue), version.model).credits;
      expect(estimateOf(version)).toBeGreaterThanOrEqual(1);
      expect(estimateOf(version)).toBeLessThanOrEqual(hold);
    }
    const free = liveVersion(textPrompt("Hello").replace("sandbox/text", "sandbox/text-free"));
    expect(estimatePrices(free, catalogue)).toEqual({ estimatedCredits: 0, creditsRequired: 0 });
  });

  test("a more expensive default from the author raises the estimate", () => {
    const low = PENCIL_PORTRAIT.replace("quality: high", "quality: low");
    expect(estimateOf(liveVersion(low))).toBeLessThan(estimateOf(liveVersion(PENCIL_PORTRAIT)));
  });
});
