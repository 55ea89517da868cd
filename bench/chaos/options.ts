/** The command line options of a chaos run. Invalid options are refused before anything is started. */
import { join } from "node:path";
import { parseArgs } from "node:util";

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  readonly database: "embedded" | "postgres";
  readonly apis: number;
  readonly workers: number;
  readonly leaseMs: number;
  readonly minutes: number;
  readonly accounts: number;
  /** The file for the result. */
  readonly out: string;
  /** Prints the plan and does nothing else. */
  readonly isPlanOnly: boolean;
}

export type ReadOptions =
  | { readonly kind: "options"; readonly options: ChaosOptions }
  | { readonly kind: "help" }
  /** One sentence per fault. */
  | { readonly kind: "refused"; readonly faults: readonly string[] };

interface Flag {
  /** What follows it on the command line; empty: nothing. */
  readonly value: string;
  readonly meaning: string;
  /** Its default value; for the seed and the file, described in words. */
  readonly default: string;
  readonly expected: string;
  readonly isValid: (text: string) => boolean;
}

const RESULTS = join(import.meta.dirname, "../results");

const FLAGS = {
  kills: number("processes to kill; other faults are added in proportion", "30", [1, 100_000]),
  seed: number("determines the plan", "random", [0, 4_294_967_295]), // the generator's whole state
  database: {
    value: "embedded|postgres",
    meaning: "the embedded server, or the machine's own PostgreSQL",
    default: "embedded",
    expected: "embedded or postgres",
    isValid: (text) => text === "embedded" || text === "postgres",
  },
  // With eight of each, and every process at its maximum, the database's 200 connections are enough.
  apis: number("API processes; every second one is also a worker", "2", [1, 8]),
  workers: number("worker processes", "3", [1, 8]),
  "lease-ms": number("PROMPTD_LEASE_MS of all processes", "6000", [300, 60_000]),
  minutes: number("stops the injections before the plan is done; the run then counts as failed", "120", [1, 10_080]),
  // The last account has few credits: alone, it would get next to nothing done.
  accounts: number("accounts, with two callers each", "12", [2, 100]),
  out: {
    value: "FILE",
    meaning: "file for the result",
    default: "bench/results/chaos-DATABASE-SEED.json",
    expected: "a file",
    isValid: (text) => text !== "",
  },
  plan: flagOnly("print the plan and do nothing else"),
  help: flagOnly("print this help"),
} satisfies Record<string, Flag>;
type FlagName = keyof typeof FLAGS;

export const USAGE = `Usage: npm run chaos -- [options]

${Object.entries<Flag>(FLAGS)
  .map(([name, flag]) => `  ${`--${name} ${flag.value}`.padEnd(30)}${flag.meaning}${describeValue(flag)}`)
  .join("\n")}

Either --apis or --workers must be at least 2.`;

const NOBODY_STANDS_IN =
  "With --apis 1 --workers 1, no process can be hit: a fault hits only a process that another one of its kind can replace. Set one of the two to at least 2.";

/** @param argv the arguments after the program's name. */
export function readOptions(argv: readonly string[]): ReadOptions {
  const { values, faults } = readFlags(argv);
  if (values.has("help")) return { kind: "help" };
  if (faults.length > 0) return { kind: "refused", faults };
  const options = optionsOf(values);
  if (options.apis === 1 && options.workers === 1) return { kind: "refused", faults: [NOBODY_STANDS_IN] };
  return { kind: "options", options };
}

function optionsOf(given: ReadonlyMap<FlagName, string>): ChaosOptions {
  const text = (name: FlagName) => given.get(name) ?? FLAGS[name].default;
  const seed = Number(given.get("seed") ?? process.pid);
  const database = text("database") === "postgres" ? "postgres" : "embedded";
  return {
    kills: Number(text("kills")),
    seed,
    database,
    apis: Number(text("apis")),
    workers: Number(text("workers")),
    leaseMs: Number(text("lease-ms")),
    minutes: Number(text("minutes")),
    accounts: Number(text("accounts")),
    out: given.get("out") ?? join(RESULTS, `chaos-${database}-${seed}.json`),
    isPlanOnly: given.has("plan"),
  };
}

/** In tolerant mode `parseArgs` throws nothing, so the error sentences are our own, and all are reported at once. */
function readFlags(argv: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries<Flag>(FLAGS).map(([name, { value }]) => [
      name,
      { type: value === "" ? "boolean" : "string" } as const,
    ]),
  );
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true });
  const values = new Map<FlagName, string>();
  const faults: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") faults.push(`"${token.value}" is not an option.`);
    if (token.kind !== "option") continue;
    if (!isFlag(token.name)) faults.push(`Unknown option: ${token.rawName}.`);
    else if (isFitting(FLAGS[token.name], token.value)) values.set(token.name, token.value ?? "");
    else faults.push(describeFault(token.name, token.value));
  }
  return { values, faults };
}

function isFlag(name: string): name is FlagName {
  return Object.hasOwn(FLAGS, name);
}

function isFitting(flag: Flag, given: string | undefined): boolean {
  return flag.value === "" ? given === undefined : given !== undefined && flag.isValid(given);
}

function describeFault(name: FlagName, given: string | undefined): string {
  const { value, expected } = FLAGS[name];
  if (value === "") return `--${name} does not accept a value, got "${given}".`;
  return `--${name} must be ${expected}, got ${given === undefined ? "none" : `"${given}"`}.`;
}

function describeValue(flag: Flag): string {
  return flag.value === "" ? "" : ` (${flag.value === "N" ? `${flag.expected}; ` : ""}default ${flag.default})`;
}

function number(meaning: string, standard: string, [min, max]: readonly [min: number, max: number]): Flag {
  return {
    value: "N",
    meaning,
    default: standard,
    expected: `a whole number from ${min} to ${max}`,
    isValid: (text) => /^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= max,
  };
}

function flagOnly(meaning: string): Flag {
  return { value: "", meaning, default: "", expected: "", isValid: () => false };
}

/** How many processes of each kind the fleet has. */
export function seatsOf({ apis, workers }: ChaosOptions) {
  return { api: apis, worker: workers };
}
