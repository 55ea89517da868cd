/**
 * Kills promptd at random and then checks that nothing was lost.
 *
 *   npm run chaos -- --kills 1000 --seed 7 [--database postgres]
 *   npm run chaos -- --kills 1000 --seed 7 --plan
 *   npm run chaos -- --help
 *
 * The seed determines the plan (what is hit, in which order, after which pauses; --plan prints it), but not how
 * processes interleave. Prints one JSON line and writes it to bench/results/. The exit code is 1 if anything was lost,
 * charged twice, left held, or did not end, or if less was done than planned, and 2 if an option was invalid.
 */
import { appendFileSync } from "node:fs";
import { readOptions, seatsOf, USAGE, type ChaosOptions } from "./chaos/options.ts";
import { countKinds, describeStep, planFaults, type Step } from "./chaos/plan-faults.ts";

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const read = readOptions(argv);
  if (read.kind === "help") return explain();
  if (read.kind === "refused") return refuse(read.faults);
  const { options } = read;
  const plan = planFaults({ seed: options.seed, kills: options.kills, seats: seatsOf(options) });
  if (options.isPlanOnly) return printPlan(options, plan);
  const unwritable = findUnwritable(options.out);
  if (unwritable !== null) return refuse([unwritable]);
  const { runChaos } = await import("./chaos/run-chaos.ts"); // the server and its tests, which the options do not need
  return runChaos(options, plan);
}

function explain(): number {
  console.log(USAGE);
  return 0;
}

function refuse(faults: readonly string[]): number {
  console.error(`${faults.map((fault) => `chaos: ${fault}`).join("\n")}\n\n${USAGE}`);
  return 2;
}

function printPlan(options: ChaosOptions, plan: readonly Step[]): number {
  for (const [i, step] of plan.entries()) console.log(`${i + 1} ${describeStep(step)}`);
  console.log(JSON.stringify({ seed: options.seed, processes: seatsOf(options), planned: countKinds(plan) }));
  return 0;
}

/**
 * Before the run: otherwise a result that cannot be written would only be noticed at the end. Leaves existing content
 * alone.
 */
function findUnwritable(file: string): string | null {
  try {
    appendFileSync(file, "");
    return null;
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return `--out must be a file that can be written, got "${file}" (${why}).`;
  }
}
