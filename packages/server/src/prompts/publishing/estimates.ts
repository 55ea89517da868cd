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
    return planTypicalSteps(version, catalogue); // with such texts the prompt would be too long to be sent
  }
}

/** Counted up when estimates are made in another way, so that they are made anew. */
const METHOD = 2;

/** Changes exactly when something changes that an estimate depends on. */
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

/** A millisecond each at most; between two batches others have their turn. */
const BATCH_MAX = 100;
const NO_PRICE: PriceEstimates = { estimatedCredits: 0, creditsRequired: 0 };

/**
 * Estimates anew what was estimated with other prices, so that search shows the prices of this catalogue.
 * @returns how many estimates were made.
 */
export async function refreshEstimates(db: Database, catalogue: Catalogue): Promise<number> {
  const basis = estimateBasis(catalogue);
  for (let done = 0; ;) {
    const stale = await listStaleEstimates(db, basis, BATCH_MAX);
    if (stale.length === 0) return done;
    const estimates = stale.map((version) => ({
      id: version.id,
      // A model that left the catalogue (an operator's own) has no price; such a prompt is not shown in search.
      ...([version, ...version.definition.steps].every(({ model }) => catalogue.find(model) !== null)
        ? estimatePrices(version, catalogue)
        : NO_PRICE),
    }));
    await setEstimates(db, basis, estimates);
    done += stale.length;
  }
}
