/** What `npm run bench` is asked for. A wrong word is refused before anything is started. */
import { parseArgs } from "node:util";
import type { Bench, BenchCase } from "./bench-case.ts";

export interface BenchOptions<Name extends string> {
  readonly names: readonly Name[];
  readonly isQuick: boolean;
  /** Of cases that compare: peers take part. */
  readonly hasPeers: boolean;
  readonly database: Bench["database"];
  readonly before: string | null;
  /** Where the records go, one a line; null: each case has a file of its own. */
  readonly json: string | null;
  /** Sizes that were given, by name. */
  readonly sizes: Readonly<Record<string, number>>;
}

export type ReadBenchOptions<Name extends string> =
  | { readonly kind: "list" }
  | { readonly kind: "options"; readonly options: BenchOptions<Name> }
  /** One sentence for each fault. */
  | { readonly kind: "refused"; readonly faults: readonly string[] };

export const USAGE = `Usage: npm run bench -- CASE… [options]

  --quick                         a small measurement, which shows that the case works; it writes no record
  --rounds N                      how often each thing is measured; the record has medians
  --set NAME=N                    another size of a case, such as runs=3000; may be repeated
  --peers                         peers take part (npm run bench:peers installs them)
  --database embedded|postgres    the embedded server, or the machine's own PostgreSQL (default embedded)
  --before COMMIT                 the commit to compare with (admission)
  --json FILE                     writes the records to this file, one a line, in place of bench/results/CASE.json

bench/results/CASE.json is what docs/performance.md shows, so only a full measurement is written there: without --quick,
--rounds and --set, and with --peers where the case compares with peers. --json takes any.`;

const FLAGS = {
  quick: { type: "boolean" },
  rounds: { type: "string" },
  set: { type: "string", multiple: true },
  peers: { type: "boolean" },
  database: { type: "string" },
  before: { type: "string" },
  json: { type: "string" },
} as const;

/** @param argv what stands behind the program's name. */
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
      .map((name) => `"${name}" is not a benchmark. There are: ${known.join(", ")}.`),
    ...(positionals.length === 0 ? ["Name at least one benchmark. Without any word, npm run bench lists them."] : []),
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

/** Why a measurement is not the one that docs/performance.md shows. Null: it is. */
export function whyNotKept(
  { comparesPeers }: Pick<BenchCase, "comparesPeers">,
  { isQuick, sizes, hasPeers }: Pick<BenchOptions<string>, "isQuick" | "sizes" | "hasPeers">,
): string | null {
  if (isQuick) return "it was a quick one";
  if (Object.keys(sizes).length > 0) return "it had other sizes";
  return comparesPeers === true && !hasPeers ? "it had no peers (--peers)" : null;
}

/** The sizes of one case: what was given, else those of a usual or a quick measurement. */
export function sizesOf(
  own: Readonly<Record<string, readonly [usual: number, quick: number]>>,
  { isQuick, sizes }: Pick<BenchOptions<string>, "isQuick" | "sizes">,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(own).map(([name, [usual, quick]]) => [name, sizes[name] ?? (isQuick ? quick : usual)]),
  );
}
