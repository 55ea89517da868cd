import { percentile } from "../search/measures.ts";

/** Values over several rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new Error("Nothing was measured.");
  return {
    median: round(percentile(values, 0.5)),
    min: round(Math.min(...values)),
    max: round(Math.max(...values)),
  };
}

/** The spread of each member, over rounds with the same members. */
export function spreadOfEach<Name extends string>(rounds: readonly Readonly<Record<Name, number>>[]) {
  const [first] = rounds;
  if (first === undefined) throw new Error("Nothing was measured.");
  const names = Object.keys(first) as Name[];
  return Object.fromEntries(names.map((name) => [name, spreadOf(rounds.map((one) => one[name]))])) as Record<
    Name,
    Spread
  >;
}

/** Such measurements are accurate to at most three digits. */
function round(value: number): number {
  return Number(value.toPrecision(3));
}
