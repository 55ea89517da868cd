import { createHash } from "node:crypto";
import { priceEstimate, type Catalogue } from "../../models/index.ts";
import type { Database } from "../../platform/database/database.ts";
import { listStaleEstimates, setEstimates } from "./publish-store.ts";
import { planTypicalSteps, type PlannedVersion } from "../inputs/step-plans.ts";

/** Credits of one run with default options and inputs of usual length, rounded up; 0 when free. */
export function estimateCredits(version: PlannedVersion, catalogue: Catalogue): number {
  return priceEstimate(catalogue, planTypicalSteps(version, catalogue), version.model);
}

/** Changes exactly when something in the catalogue changes that an estimate depends on. */
export function estimateBasis(catalogue: Catalogue): string {
  const priced = catalogue.entries.map((entry) => {
    const { model, price, priceFactor, minimum, runOptions, defaults, limits, typicalOutputTokens, inputs } = entry;
    return { model, price, priceFactor, minimum, runOptions, defaults, limits, typicalOutputTokens, inputs };
  });
  return createHash("sha256").update(JSON.stringify(priced)).digest("base64url");
}

const BATCH_MAX = 500;

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
      credits: version.definition.steps.every((step) => catalogue.find(step.model) !== null)
        ? estimateCredits(version, catalogue)
        : 0,
    }));
    await setEstimates(db, basis, estimates);
    done += stale.length;
  }
}
