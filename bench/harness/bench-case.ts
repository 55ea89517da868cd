/** What a benchmark is, and what it is given. */

/** How much of what: in a measurement, and in a quick one, which only shows that the case works. */
type Sizes<Name extends string> = Readonly<Record<Name, readonly [usual: number, quick: number]>>;

export interface Bench<Name extends string = string> {
  readonly sizes: Readonly<Record<Name, number>>;
  /** False: peers are not asked for, or not installed. */
  readonly hasPeers: boolean;
  readonly database: "embedded" | "postgres";
  /** The commit to compare with; null: none is named. */
  readonly before: string | null;
}

export interface BenchCase<Name extends string = string, Result extends object = object> {
  readonly sizes: Sizes<Name>;
  /** Its record is whole only with --peers. */
  readonly comparesPeers?: true;
  /** @returns the record without the machine, which the command adds. */
  measure(bench: Bench<Name>): Promise<Result>;
}

export const defineCase = <const Name extends string, Result extends object>(
  one: BenchCase<Name, Result>,
): BenchCase<Name, Result> => one;

/** What the record of a case holds beside the machine. */
export type ResultOf<Case> =
  Case extends BenchCase<infer Name, infer Result> ? Result & Pick<Bench<Name>, "sizes"> : never;
