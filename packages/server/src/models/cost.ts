import { nanoCredits, type PriceRates } from "../credits/index.ts";
import type { Usage } from "./price-plan.ts";

const NANO_PER_MICRO = 1_000n;

/** What one send cost at the catalogue's prices, in micro-credits, rounded up: the operator's record. */
export function costMicro(rates: PriceRates, usage: Usage): number {
  return Number((nanoCredits(rates, usage) + NANO_PER_MICRO - 1n) / NANO_PER_MICRO);
}
