import { editDistance } from "@promptd/contract";

/** More changes make another name. */
export const SLIPS_MAX = 2;

/** The known name that is most like the one typed; null: none is like it. */
export function nearestName(typed: string, known: readonly string[]): string | null {
  const name = typed.toLowerCase();
  const near = known
    .map((one) => ({ one, distance: editDistance(name, one) }))
    .filter(({ distance }) => distance <= SLIPS_MAX)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.one ?? null;
}
