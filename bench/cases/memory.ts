/**
 * The memory of one process that is API and worker, started as users start it: idle after its first start, compared with a
 * bare Node process with one connection, and its growth over many runs of a sandbox model.
 *
 * `growth` is the peak resident memory after 10,000 runs relative to
 * the peak before. It may be at most 1.10. Peaks are compared because
 * the heap fluctuates: a process that is idle for a moment shrinks.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import { startPromptd } from "../../packages/server/test/support/promptd-process.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { startServer } from "../harness/child-server.ts";
import { residentMib } from "../harness/cpu.ts";
import { onDatabase } from "../harness/on-database.ts";

const BASE_RUNS = 10_000;
const SAMPLE_EVERY = 2_500;
const MIB = 2 ** 20;

interface Sample {
  readonly runs: number;
  /** All values are in MiB. */
  readonly resident: number;
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
  /** What the last full garbage collection left: the memory really in use. */
  readonly heapAfterCollection: number;
}

export const memory = defineCase({
  sizes: { idleSeconds: [30, 2], runs: [100_000, 1_000], parallel: [64, 16] },
  measure: async ({ database, sizes }) => ({
    // Each on a separate database, because a first start needs an empty one.
    ...(await onDatabase(database, ({ url }) => measureIdle(url, sizes.idleSeconds))),
    ...(await onDatabase(database, ({ url }) => measureGrowth(url, sizes))),
  }),
});

/** A first start publishes the seed marketplace, because no accounts exist. */
async function measureIdle(url: string, seconds: number) {
  const bare = await startServer({ file: join(import.meta.dirname, "../harness/bare-process.js"), args: [url] });
  const directory = mkdtempSync(join(tmpdir(), "promptd-memory-"));
  const environment = { DATABASE_URL: url, PROMPTD_DATA_DIR: directory, PROMPTD_LOG_LEVEL: "info", PROMPTD_SEED: "on" };
  const promptd = await startPromptd({ environment });
  if (!promptd.log.some((line) => line.includes("published the seed marketplace")))
    throw new Error("Nothing was seeded.");
  await wait(seconds * 1_000);
  const idleMib = { promptd: residentMib(promptd.pid), bareNode: residentMib(bare.pid) };
  await Promise.all([bare.stop(), promptd.stop()]);
  rmSync(directory, { recursive: true });
  return { idleMib };
}

async function measureGrowth(url: string, { runs, parallel }: Bench<"runs" | "parallel">["sizes"]) {
  const directory = mkdtempSync(join(tmpdir(), "promptd-memory-"));
  const file = join(directory, "memory.json");
  const fixture = await openInstallationFixture(url, {
    PROMPTD_LEASE_MS: "15000",
    NODE_OPTIONS: `--import=${join(import.meta.dirname, "../harness/memory-probe.js")}`,
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
  const every = Math.min(SAMPLE_EVERY, runs);
  for (let until = every; until <= runs; until += every) {
    await Promise.all(Array.from({ length: parallel }, () => runSome(until)));
    samples.push(await takeSample(promptd.pid, file, until));
    console.error(JSON.stringify(samples.at(-1)));
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  for (const line of [...faults, ...promptd.log].slice(-50)) console.error(line);
  await promptd.stop();
  await fixture.close();
  rmSync(directory, { recursive: true });
  const mostOf = (isCounted: (count: number) => boolean) =>
    Math.max(...samples.filter((sample) => isCounted(sample.runs)).map(({ resident }) => resident));
  const growth = mostOf((count) => count > BASE_RUNS) / mostOf((count) => count <= BASE_RUNS);
  return {
    perSecond: round(runs / seconds),
    growth: runs > BASE_RUNS ? round(growth) : null,
    faults: faults.length,
    samples,
  };
}

async function takeSample(pid: number, file: string, runs: number): Promise<Sample> {
  rmSync(file, { force: true });
  const resident = residentMib(pid);
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

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
