import type { CreateRunBody } from "@promptd/contract";
import { earnerOf, type Earner } from "../../credits/index.ts";
import { priceCeiling, priceEstimate, type Catalogue, type PriceSnapshot } from "../../models/index.ts";
import { checkInputs, planSteps, type CheckedInputs, type LivePrompt } from "../../prompts/index.ts";
import type { Database } from "../../platform/database/database.ts";
import { invalid } from "../../platform/problem.ts";
import { getRunnablePrompt } from "./runnable-prompt.ts";

export interface Quote {
  /** Credits to hold; null: all prices are zero, or an author runs their own prompt. */
  readonly hold: number | null;
  /** What a run with these inputs usually costs; only refusals mention it. */
  readonly estimate: () => number;
  readonly prices: RunPrices;
}

/** What the run costs and who earns from it, as of now: later changes to prices or shares do not affect it. */
interface RunPrices extends PriceSnapshot {
  /** Null: only the operator earns. */
  readonly author: Earner | null;
}

export interface QuoteOptions {
  readonly catalogue: Catalogue;
  /** The most that a run of this installation may hold. */
  readonly holdMaxCredits: number;
  /** For prompts without their own share, as a percentage of the run's cost. */
  readonly authorShare: number;
  /** True: authors pay for runs of their own prompts too. */
  readonly chargesAuthors: boolean;
}

/** The most that the run can cost. @throws Problem 422 if that exceeds what one run may hold. */
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

/** What such a run would cost. Images do not affect the price and may be missing. @throws Problem 404, 410 or 422. */
export async function quoteRun(
  accountId: string,
  body: CreateRunBody,
  options: QuoteOptions & { readonly db: Database },
): Promise<Pick<Quote, "hold"> & { readonly estimate: number }> {
  const prompt = await getRunnablePrompt({ accountId, body }, options);
  const checked = checkInputs(prompt.version, body, options.catalogue);
  const issues = checked.issues.filter(({ path }) => path[2] !== "imageInputs");
  if (issues.length > 0) throw invalid(issues);
  const { estimate, hold } = quote(accountId, prompt, checked, options);
  return { estimate: estimate(), hold };
}
