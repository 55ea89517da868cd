import { percentile } from "../search/measures.ts";

/** How many milliseconds a victim's work takes alone, and while another account attacks. */
export interface Contrast {
  readonly alone: readonly number[];
  readonly attacked: readonly number[];
}

export function describeContrast({ alone, attacked }: Contrast) {
  const [before, under] = [percentile(alone, 0.95), percentile(attacked, 0.95)];
  return {
    aloneMs: { p50: round(percentile(alone, 0.5)), p95: round(before) },
    attackedMs: { p50: round(percentile(attacked, 0.5)), p95: round(under) },
    ratioOfP95: round(under / before),
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
