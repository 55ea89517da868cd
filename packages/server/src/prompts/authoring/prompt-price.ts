import type { PriceOfPrompt } from "@promptd/contract/manage";
import { priceCeiling, type Catalogue } from "../../models/index.ts";
import { planSteps, type PlannedVersion } from "../inputs/step-plans.ts";
import { estimatePrices } from "../publishing/estimates.ts";

/** The price that callers see before they enter anything: for texts of up to 500 characters. */
export function usualPrice(version: PlannedVersion, catalogue: Catalogue): PriceOfPrompt {
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
): PriceOfPrompt {
  const plans = planSteps(version, inputs.textInputs, inputs.runOptions, catalogue);
  return { ...usualPrice(version, catalogue), most: priceCeiling(catalogue, plans, version.model).credits };
}
