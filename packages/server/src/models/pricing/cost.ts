import { nanoCredits, type PriceRates } from "../../credits/index.ts";
import type { Usage } from "../providers/failure.ts";

const NANO_PER_MICRO = 1_000n;

const COST_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * What one send cost at the catalogue's prices, in micro-credits, rounded up: the operator's record. A broken count of
 * a provider times a high price is cut: a number that the column cannot hold would keep all ends beside it unwritten.
 */
export function costMicro(rates: PriceRates, usage: Usage): number {
  const micro = (nanoCredits(rates, usage) + NANO_PER_MICRO - 1n) / NANO_PER_MICRO;
  return Number(micro > COST_MAX ? COST_MAX : micro);
}
