import { earnerOf, type Earner } from "../../credits/index.ts";
import { priceCeiling, priceEstimate, type Catalogue, type PriceSnapshot } from "../../models/index.ts";
import { planSteps, type CheckedInputs, type LivePrompt } from "../../prompts/index.ts";
import { invalid } from "../../platform/problem.ts";

export interface Quote {
  /** Credits to hold; null: the prices are all zero, or an author runs an own prompt. */
  readonly hold: number | null;
  /** What a run with these inputs usually costs, which refusals alone say. */
  readonly estimate: () => number;
  readonly prices: RunPrices;
}

/** What the run costs and who earns of it, as it is now: a later change of a price or a share does not touch it. */
interface RunPrices extends PriceSnapshot {
  /** Null: nobody but the operator. */
  readonly author: Earner | null;
}

export interface QuoteOptions {
  readonly catalogue: Catalogue;
  /** A run of this installation may not hold more. */
  readonly holdMaxCredits: number;
  /** Of prompts without a share of their own, in percent of what a run costs. */
  readonly authorShare: number;
  /** True: authors pay for runs of their own prompts too. */
  readonly chargesAuthors: boolean;
}

/** The most that the run can cost. @throws Problem 422 above the most that one run may hold. */
export function quote(
  accountId: string,
  { version, terms }: LivePrompt,
  checked: CheckedInputs,
  { catalogue, holdMaxCredits, authorShare, chargesAuthors }: QuoteOptions,
): Quote {
  const steps = planSteps(version, checked.textInputs, checked.options, catalogue);
  const { credits, prices: rates } = priceCeiling(catalogue, steps, version.model);
  const isOwn = version.authorId === accountId;
  // Where an author's own runs are free, nothing is captured, so nothing is earned.
  if (credits === 0 || (isOwn && !chargesAuthors)) {
    return { hold: null, estimate: () => 0, prices: { ...rates, author: null } };
  }
  if (credits > holdMaxCredits) {
    const message = `With these inputs the run could cost ${credits} credits, but a run on this server may hold at most ${holdMaxCredits}. Send shorter inputs.`;
    throw invalid([{ path: ["body", "inputs"], code: "too_long", message }]);
  }
  const { authorId } = version;
  const author = earnerOf({ accountId, authorId, share: terms?.authorShare ?? null, defaultShare: authorShare });
  const prices = { ...rates, author };
  return { hold: credits, estimate: () => priceEstimate(catalogue, steps, version.model), prices };
}
