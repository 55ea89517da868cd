/** A whole chaos run: an installation under load, the faults of a plan, and the checks afterwards. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { createClosers, type Closers } from "../../packages/server/src/platform/resilience/closers.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";
import { migrate } from "../../packages/server/src/platform/database/migrate.ts";
import { killLeftovers } from "../../packages/server/test/support/promptd-process.ts";
import { readCommit } from "../harness/measurement.ts";
import { awaitDeliveries, checkBatches } from "./check-batches.ts";
import { checkHistory } from "./check-history.ts";
import { checkStorage } from "./check-storage.ts";
import { startChaosDatabase } from "./database-server.ts";
import { findShortfall, injectFaults, type Injected } from "./inject-faults.ts";
import { seatsOf, type ChaosOptions } from "./options.ts";
import { countKinds, type Step } from "./plan-faults.ts";
import { openScene, type Scene } from "./scene.ts";

const SETTLE_MS_MAX = 300_000;
const VIOLATIONS_SHOWN = 50;
/** In addition to --minutes: for the start, the end of the last run, and the checks. */
const REST_MINUTES = 15;

/** Whatever happens, there is a JSON line, which says why if the run did not finish, and no process is left behind. */
export async function runChaos(options: ChaosOptions, plan: readonly Step[]): Promise<number> {
  console.error(`chaos: seed ${options.seed}, ${options.kills} kills, ${options.database}`);
  const startedMs = performance.now();
  const closers = createClosers();
  const ended = await Promise.race([play(options, plan, closers), untilBroken(options)]).catch((error: unknown) => ({
    violations: [`the chaos run broke off: ${error instanceof Error ? error.stack : String(error)}`],
  }));
  const durationS = Math.round((performance.now() - startedMs) / 1_000);
  const line = JSON.stringify({ seed: options.seed, planned: countKinds(plan), ...ended, durationS });
  writeFileSync(options.out, `${line}\n`);
  console.log(line);
  await closers.run().catch((error: unknown) => console.error("chaos:", error));
  // Anything a broken run left running must not keep the process alive.
  setTimeout(() => process.exit(), 1_000).unref();
  return ended.violations.length === 0 ? 0 : 1;
}

/** Rejects if the run is told to stop, takes too long, or something in it fails that nobody awaits. */
function untilBroken(options: ChaosOptions): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  // A terminal or pipe that went away must not end the run: the result is still written to its file.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  process.on("SIGHUP", () => {});
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => reject(new Error(name)));
  process.on("uncaughtException", reject); // unhandled rejections arrive here as well
  const minutes = options.minutes + REST_MINUTES;
  setTimeout(() => reject(new Error(`It had not ended after ${minutes} minutes.`)), minutes * 60_000).unref();
  return promise;
}

async function play(options: ChaosOptions, plan: readonly Step[], closers: Closers) {
  const home = mkdtempSync(join(tmpdir(), "promptd-chaos-"));
  closers.add(async () => rmSync(home, { recursive: true, force: true }));
  const server = await startChaosDatabase(options.database, home);
  closers.add(() => server.stop());
  await migrate(server.url, createLog("silent", "stderr"));
  closers.add(killLeftovers); // processes left by a fleet that could not be stopped
  const seats = seatsOf(options);
  const scene = await openScene({ ...options, seats, server, home }, closers);
  const injected = await injectFaults({ ...scene, plan, msMax: options.minutes * 60_000 });
  const settled = await settle(scene);
  return describe(options, scene, { injected, settled, judged: await judge(scene, plan, { injected, settled }) });
}

interface Settled {
  readonly reports: Awaited<ReturnType<Scene["load"]["stop"]>>;
  /** False: runs were still open when time ran out. */
  readonly isSettled: boolean;
  readonly drainMs: number;
}

/** Lets callers and runs finish. */
async function settle({ load, batchLoad, fleet, db }: Scene): Promise<Settled> {
  console.error("chaos: injections are over, waiting for the last run to end");
  const startedMs = performance.now();
  const reports = (await Promise.all([load.stop(), batchLoad.stop()])).flat();
  const isSettled = await fleet.settle(db, SETTLE_MS_MAX);
  await awaitDeliveries(db, SETTLE_MS_MAX);
  return { reports, isSettled, drainMs: Math.round(performance.now() - startedMs) };
}

interface Played {
  readonly injected: Injected;
  readonly settled: Settled;
}

async function judge(scene: Scene, plan: readonly Step[], { injected, settled }: Played) {
  const late = await scene.zombies.stop();
  const checked = await checkHistory(scene.db, {
    reports: settled.reports,
    accounts: [...scene.load.accounts, scene.batchLoad.account],
    readBack: new Map([...(await scene.load.readBack()), ...(await scene.batchLoad.readBack())]),
    kills: injected.killTimes,
    outages: injected.outages,
    slowdowns: await scene.machine.stop(),
    leaseMs: scene.leaseMs,
    mishaps: scene.fleet.mishaps,
  });
  const violations = [
    ...findShortfall(countKinds(plan), injected),
    ...checked.violations,
    ...(await checkBatches(scene.db, scene.batchLoad.heard())),
    ...late.violations,
    ...(await checkStorage(scene.server.superuserUrl)),
  ];
  return {
    lateFinishes: late.lateFinishes,
    topUps: scene.load.topUps,
    batches: scene.batchLoad.batches,
    checked,
    violations,
  };
}

function describe(
  options: ChaosOptions,
  { server }: Scene,
  { injected, settled, judged }: Played & { readonly judged: Awaited<ReturnType<typeof judge>> },
) {
  return {
    executed: injected.executed,
    kills: injected.kills,
    settled: settled.isSettled,
    drainMs: settled.drainMs,
    lateFinishes: judged.lateFinishes,
    ...judged.checked,
    topUps: judged.topUps,
    batches: judged.batches,
    violationCount: judged.violations.length,
    violations: judged.violations.slice(0, VIOLATIONS_SHOWN),
    leaseMs: options.leaseMs,
    database: server.version,
    processes: seatsOf(options),
    machine: `${cpus().length} x ${cpus()[0]?.model ?? "?"}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    commit: readCommit(),
    at: new Date().toISOString(),
  };
}
