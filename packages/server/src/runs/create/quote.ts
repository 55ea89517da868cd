import { priceCeiling, priceEstimate, type Catalogue, type PriceSnapshot } from "../../models/index.ts";
import { planSteps, type CheckedInputs, type LiveVersion } from "../../prompts/index.ts";
import { invalid } from "../../platform/problem.ts";

export interface Quote {
  /** Credits to hold; null: the prices are all zero, or an author runs an own prompt. */
  readonly hold: number | null;
  /** What a run with these inputs usually costs. */
  readonly estimate: number;
  readonly prices: PriceSnapshot;
}

export interface QuoteOptions {
  readonly catalogue: Catalogue;
  /** A run of this installation may not hold more. */
  readonly holdMaxCredits: number;
}

/** The most that the run can cost. @throws Problem 422 above the most that one run may hold. */
export function quote(
  accountId: string,
  version: LiveVersion,
  checked: CheckedInputs,
  { catalogue, holdMaxCredits }: QuoteOptions,
): Quote {
  const steps = planSteps(version, checked.textInputs, checked.options, catalogue);
  const { credits, prices } = priceCeiling(catalogue, steps, version.model);
  if (credits === 0 || version.authorId === accountId) return { hold: null, estimate: 0, prices };
  if (credits > holdMaxCredits) {
    const message = `With these inputs the run could cost ${credits} credits; ${holdMaxCredits} is the most one run may hold here. Send shorter inputs.`;
    throw invalid([{ path: ["body", "inputs"], code: "too_long", message }]);
  }
  return { hold: credits, estimate: priceEstimate(catalogue, steps, version.model), prices };
}
