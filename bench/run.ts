/**
 * Runs benchmarks: `npm run bench` lists them, and `npm run bench -- create-run recovery --quick` runs two. Each prints its
 * record as one JSON line. A full measurement's record is written to bench/results/, with the machine and its other load.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildStart } from "../scripts/build-program.ts";
import { CASE_NAMES, CASES, type CaseName } from "./cases/index.ts";
import type { BenchCase } from "./harness/bench-case.ts";
import { readCommandLine, sizesOf, USAGE, whyNotKept, type BenchOptions } from "./harness/command-line.ts";
import { measureFlush } from "./harness/disk.ts";
import { describeMeasurement, measureOtherWork } from "./harness/measurement.ts";

const RESULTS = join(import.meta.dirname, "results");

const read = readCommandLine(process.argv.slice(2), CASE_NAMES);
if (read.kind === "options") await runAll(read.options);
else if (read.kind === "list") list();
else {
  console.error(`${read.faults.join("\n")}\n\n${USAGE}`);
  process.exitCode = 2;
}

function list(): void {
  const width = Math.max(...CASE_NAMES.map(({ length }) => length)) + 2;
  for (const name of CASE_NAMES) console.log(`  ${name.padEnd(width)}${CASES[name].summary}`);
  console.log(`\n${USAGE}`);
}

async function runAll(options: BenchOptions<CaseName>): Promise<void> {
  process.env["TEST_PROGRAM"] = await buildStart(true); // as `npm start` does
  const load = async (name: CaseName): Promise<BenchCase> => CASES[name].load();
  const cases = await Promise.all(options.names.map(async (name) => ({ name, one: await load(name) })));
  const known = cases.flatMap(({ one }) => Object.keys(one.sizes));
  const unknown = Object.keys(options.sizes).filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`None of these benchmarks has a size ${unknown.join(", ")}. Sizes: ${known.join(", ")}.`);
    process.exitCode = 2;
    return;
  }
  const lines: string[] = [];
  for (const { name, one } of cases) {
    const sizes = sizesOf(one.sizes, options);
    const measurement = { ...describeMeasurement(), flushMs: measureFlush() };
    const before = await measureOtherWork();
    const result = await one.measure({ ...options, sizes });
    const otherWork = { before, after: await measureOtherWork() };
    const line = JSON.stringify({ case: name, sizes, ...result, ...measurement, otherWork });
    console.log(line);
    lines.push(line);
    if (options.json !== null) writeFileSync(options.json, `${lines.join("\n")}\n`);
    else keep(name, line, whyNotKept(one, options));
  }
}

function keep(name: CaseName, line: string, whyNot: string | null): void {
  if (whyNot !== null) {
    console.error(`bench/results/${name}.json was not written: ${whyNot}. --json FILE writes any measurement.`);
    return;
  }
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, `${name}.json`), `${line}\n`);
}
