/**
 * How the memory of one process that is API and worker grows over many runs of a sandbox model: resident memory, and what
 * Node knows of it. The process is started as its users start it.
 *
 *   node --conditions=promptd-source bench/memory-growth.ts [--runs 100000] [--parallel 64] [--database embedded|postgres]
 *
 * Prints one JSON line and writes it to bench/results/. `growth` is the most resident memory of a sample after 10,000 runs
 * against the most of one up to them; it may be 1.10 at most. The most, since the heap breathes: a process that had
 * nothing to do for a moment shrinks.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { openInstallationFixture } from "../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "./chaos/database-server.ts";
import { describeMeasurement } from "./commit.ts";
import { measureOnDatabase } from "./measure-on-database.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "100000" },
    parallel: { type: "string", default: "64" },
    database: { type: "string", default: "embedded" },
    out: { type: "string", default: join(import.meta.dirname, "results", "memory-growth.json") },
  },
});
const RUNS = Number(values.runs);
const PARALLEL = Number(values.parallel);
const BASE_RUNS = 10_000;
const SAMPLE_EVERY = Math.min(2_500, RUNS);
const MIB = 2 ** 20;

interface Sample {
  readonly runs: number;
  /** MiB, all of them. */
  readonly resident: number;
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
  /** What the last full collection left: what is really in use. */
  readonly heapAfterCollection: number;
}

await measureOnDatabase(values.database === "postgres" ? "postgres" : "embedded", values.out, measure);

async function measure(server: ChaosDatabase) {
  const directory = mkdtempSync(join(tmpdir(), "promptd-memory-"));
  const file = join(directory, "memory.json");
  const fixture = await openInstallationFixture(server.url, {
    PROMPTD_LEASE_MS: "15000",
    NODE_OPTIONS: `--import=${join(import.meta.dirname, "memory-probe.ts")}`,
    BENCH_MEMORY_FILE: file,
  });
  const caller = await fixture.createCaller();
  const promptd = await fixture.start();
  const client = caller.clientAt(promptd.url);
  const samples: Sample[] = [];
  const faults: string[] = [];
  let done = 0;
  const body = { promptVersionId: fixture.prompts.free, inputs: { textInputs: { ask: "What is a tea house?" } } };
  async function runSome(until: number): Promise<void> {
    while (done < until) {
      done += 1;
      const status = await client.runs.create(body).then(
        (run) => run.runStatus,
        (error: Error) => error.message,
      );
      if (status !== "succeeded") faults.push(status); // a busy machine makes some statements too slow
    }
  }
  const startedMs = performance.now();
  for (let until = SAMPLE_EVERY; until <= RUNS; until += SAMPLE_EVERY) {
    await Promise.all(Array.from({ length: PARALLEL }, () => runSome(until)));
    samples.push(await takeSample(promptd.pid, file, until));
    console.error(JSON.stringify(samples.at(-1)));
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  for (const line of [...faults, ...promptd.log].slice(-50)) console.error(line);
  await promptd.stop();
  await fixture.close();
  rmSync(directory, { recursive: true });
  const mostOf = (isCounted: (runs: number) => boolean) =>
    Math.max(...samples.filter(({ runs }) => isCounted(runs)).map(({ resident }) => resident));
  const growth = mostOf((runs) => runs > BASE_RUNS) / mostOf((runs) => runs <= BASE_RUNS);
  return {
    runs: RUNS,
    parallel: PARALLEL,
    perSecond: round(RUNS / seconds),
    growth: round(growth),
    faults: faults.length,
    samples,
    database: server.version,
    ...describeMeasurement(),
  };
}

async function takeSample(pid: number, file: string, runs: number): Promise<Sample> {
  rmSync(file, { force: true });
  const resident = residentOf(pid);
  process.kill(pid, "SIGUSR2");
  for (;;) {
    await wait(50);
    const text = readOrNull(file);
    if (text === null) continue;
    const usage = JSON.parse(text) as NodeJS.MemoryUsage & { heapAfterCollection: number };
    const inMiB = (bytes: number) => round(bytes / MIB);
    return {
      runs,
      resident,
      heapUsed: inMiB(usage.heapUsed),
      heapTotal: inMiB(usage.heapTotal),
      external: inMiB(usage.external),
      heapAfterCollection: inMiB(usage.heapAfterCollection),
    };
  }
}

function readOrNull(file: string): string | null {
  try {
    const text = readFileSync(file, "utf8");
    return text.endsWith("}") ? text : null;
  } catch {
    return null;
  }
}

function residentOf(pid: number): number {
  const kB = /^VmRSS:\s+(?<kB>\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.groups?.["kB"];
  return round(Number(kB) / 1_024);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
