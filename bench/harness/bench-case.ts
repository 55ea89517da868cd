/** The parts and inputs of a benchmark. */

/** Sizes for a full measurement, and for a quick one that only shows that the case works. */
type Sizes<Name extends string> = Readonly<Record<Name, readonly [usual: number, quick: number]>>;

export interface Bench<Name extends string = string> {
  readonly sizes: Readonly<Record<Name, number>>;
  /** False: peers are not requested or not installed. */
  readonly hasPeers: boolean;
  readonly database: "embedded" | "postgres";
  /** The commit to compare with; null: none was named. */
  readonly before: string | null;
}

export interface BenchCase<Name extends string = string, Result extends object = object> {
  readonly sizes: Sizes<Name>;
  /** Its record is complete only with --peers. */
  readonly comparesPeers?: true;
  /** @returns the record, to which the command adds the machine. */
  measure(bench: Bench<Name>): Promise<Result>;
}

export const defineCase = <const Name extends string, Result extends object>(
  one: BenchCase<Name, Result>,
): BenchCase<Name, Result> => one;

/** The contents of a case's record besides the machine. */
export type ResultOf<Case> =
  Case extends BenchCase<infer Name, infer Result> ? Result & Pick<Bench<Name>, "sizes"> : never;
