import { priceCeiling, type Catalogue } from "../../models/index.ts";
import { planSteps, type PlannedVersion } from "../inputs/step-plans.ts";
import { estimatePrices } from "../publishing/estimates.ts";

/** Credits of one run; both 0 when it is free. */
export interface PromptPrice {
  /** With default options and inputs of usual length, as search shows it. */
  readonly typical: number;
  /** What must be available to create it: the most it can cost. */
  readonly most: number;
}

/** With texts of up to 500 characters, as callers are told before they give any. */
export function usualPrice(version: PlannedVersion, catalogue: Catalogue): PromptPrice {
  const { estimatedCredits: typical, creditsRequired: most } = estimatePrices(version, catalogue);
  return { typical, most };
}

/** @param textInputs every declared key with its final value. */
export function priceWith(
  version: PlannedVersion,
  inputs: {
    readonly textInputs: Readonly<Record<string, string>>;
    readonly runOptions: Readonly<Record<string, string>>;
  },
  catalogue: Catalogue,
): PromptPrice {
  const plans = planSteps(version, inputs.textInputs, inputs.runOptions, catalogue);
  return { ...usualPrice(version, catalogue), most: priceCeiling(catalogue, plans, version.model).credits };
}
