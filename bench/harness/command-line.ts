/** Parses the arguments of `npm run bench`. An invalid argument is rejected before anything is started. */
import { parseArgs } from "node:util";
import type { Bench, BenchCase } from "./bench-case.ts";

export interface BenchOptions<Name extends string> {
  readonly names: readonly Name[];
  readonly isQuick: boolean;
  /** For cases that compare: includes peers. */
  readonly hasPeers: boolean;
  readonly database: Bench["database"];
  readonly before: string | null;
  /** The file for all records, one per line; null: a file per case. */
  readonly json: string | null;
  /** The given sizes, by name. */
  readonly sizes: Readonly<Record<string, number>>;
}

export type ReadBenchOptions<Name extends string> =
  | { readonly kind: "list" }
  | { readonly kind: "options"; readonly options: BenchOptions<Name> }
  /** One sentence per error. */
  | { readonly kind: "refused"; readonly faults: readonly string[] };

export const USAGE = `Usage: npm run bench -- CASE… [options]

  --quick                         run a small measurement that only shows that the case works; writes no record
  --rounds N                      measure everything N times; the record has medians
  --set NAME=N                    change a size of a case, such as runs=3000; can be repeated
  --peers                         include peers (npm run bench:peers installs them)
  --database embedded|postgres    the embedded server, or the machine's own PostgreSQL (default embedded)
  --before COMMIT                 the commit to compare with (admission)
  --json FILE                     write the records to this file, one per line, instead of bench/results/CASE.json

docs/performance.md shows bench/results/CASE.json, so only full measurements are written there: without --quick, --rounds,
and --set, and with --peers if the case compares with peers. --json writes any measurement.`;

const FLAGS = {
  quick: { type: "boolean" },
  rounds: { type: "string" },
  set: { type: "string", multiple: true },
  peers: { type: "boolean" },
  database: { type: "string" },
  before: { type: "string" },
  json: { type: "string" },
} as const;

/** @param argv the arguments after the program's name. */
export function readCommandLine<Name extends string>(
  argv: readonly string[],
  known: readonly Name[],
): ReadBenchOptions<Name> {
  const parsed = parse(argv);
  if (typeof parsed === "string") return { kind: "refused", faults: [parsed] };
  const { values, positionals } = parsed;
  if (argv.length === 0) return { kind: "list" };
  const names = positionals.filter((name): name is Name => known.includes(name as Name));
  const sizes = readSizes([...(values.set ?? []), ...(values.rounds === undefined ? [] : [`rounds=${values.rounds}`])]);
  const { database = "embedded" } = values;
  const faults = [
    ...positionals
      .filter((name) => !known.includes(name as Name))
      .map((name) => `"${name}" is not a benchmark. Benchmarks: ${known.join(", ")}.`),
    ...(positionals.length === 0 ? ["Name at least one benchmark. Without arguments, npm run bench lists them."] : []),
    ...sizes.faults,
  ];
  if (database !== "embedded" && database !== "postgres")
    return { kind: "refused", faults: [...faults, `--database must be embedded or postgres, got "${database}".`] };
  if (faults.length > 0) return { kind: "refused", faults };
  return {
    kind: "options",
    options: {
      names,
      database,
      isQuick: values.quick ?? false,
      hasPeers: values.peers ?? false,
      before: values.before ?? null,
      json: values.json ?? null,
      sizes: sizes.values,
    },
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: FLAGS, allowPositionals: true });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function readSizes(texts: readonly string[]) {
  const values: Record<string, number> = {};
  const faults: string[] = [];
  for (const text of texts) {
    const [, name, count] = /^([a-z]+)=(\d{1,9})$/i.exec(text) ?? [];
    if (name === undefined || Number(count) === 0) faults.push(`"${text}" is not NAME=N with a whole number above 0.`);
    else values[name] = Number(count);
  }
  return { values, faults };
}

/** Says why docs/performance.md must not show a measurement. Null: it may. */
export function whyNotKept(
  { comparesPeers }: Pick<BenchCase, "comparesPeers">,
  { isQuick, sizes, hasPeers }: Pick<BenchOptions<string>, "isQuick" | "sizes" | "hasPeers">,
): string | null {
  if (isQuick) return "it was a quick measurement";
  if (Object.keys(sizes).length > 0) return "it had other sizes";
  return comparesPeers === true && !hasPeers ? "it had no peers (--peers)" : null;
}

/** The sizes of one case: the given sizes, or else the defaults of a full or quick measurement. */
export function sizesOf(
  own: Readonly<Record<string, readonly [usual: number, quick: number]>>,
  { isQuick, sizes }: Pick<BenchOptions<string>, "isQuick" | "sizes">,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(own).map(([name, [usual, quick]]) => [name, sizes[name] ?? (isQuick ? quick : usual)]),
  );
}
