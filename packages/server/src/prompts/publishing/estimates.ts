import { createHash } from "node:crypto";
import { priceCeiling, priceEstimate, type Catalogue, type StepPlan } from "../../models/index.ts";
import type { Database } from "../../platform/database/database.ts";
import { Problem } from "../../platform/problem.ts";
import { listStaleEstimates, setEstimates } from "./publish-store.ts";
import { largeInputs } from "../inputs/large-inputs.ts";
import { planSteps, planTypicalSteps, type PlannedVersion } from "../inputs/step-plans.ts";
import type { PriceEstimates } from "../prompt-definition.ts";

export function estimatePrices(version: PlannedVersion, catalogue: Catalogue): PriceEstimates {
  return {
    estimatedCredits: priceEstimate(catalogue, planTypicalSteps(version, catalogue), version.model),
    creditsRequired: priceCeiling(catalogue, planAmpleSteps(version, catalogue), version.model).credits,
  };
}

function planAmpleSteps(version: PlannedVersion, catalogue: Catalogue): StepPlan[] {
  try {
    return planSteps(version, largeInputs(version.definition.inputs), {}, catalogue);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return planTypicalSteps(version, catalogue); // with texts of this length, the prompt would be too long to send
  }
}

/** Incremented when the method of estimating changes, so that all estimates are recomputed. */
const METHOD = 2;

/** A hash that changes exactly when something changes that an estimate depends on. */
export function estimateBasis(catalogue: Catalogue): string {
  const priced = catalogue.entries.map((entry) => {
    const { model, price, priceFactor, minimum, runOptions, defaults, limits, typicalOutputTokens, inputs, webSearch } =
      entry;
    return { model, price, priceFactor, minimum, runOptions, defaults, limits, typicalOutputTokens, inputs, webSearch };
  });
  return createHash("sha256")
    .update(JSON.stringify({ method: METHOD, priced }))
    .digest("base64url");
}

/** Each takes at most a millisecond; other work runs between batches. */
const BATCH_MAX = 100;
const NO_PRICE: PriceEstimates = { estimatedCredits: 0, creditsRequired: 0 };

/**
 * Recomputes estimates that were made with other prices, so that search shows the prices of this catalogue.
 * @returns how many estimates were made.
 */
export async function refreshEstimates(db: Database, catalogue: Catalogue): Promise<number> {
  const basis = estimateBasis(catalogue);
  for (let done = 0; ;) {
    const stale = await listStaleEstimates(db, basis, BATCH_MAX);
    if (stale.length === 0) return done;
    const estimates = stale.map((version) => ({
      id: version.id,
      // An operator's own model that left the catalogue has no price, and search does not show such a prompt.
      ...([version, ...version.definition.steps].every(({ model }) => catalogue.find(model) !== null)
        ? estimatePrices(version, catalogue)
        : NO_PRICE),
    }));
    await setEstimates(db, basis, estimates);
    done += stale.length;
  }
}
