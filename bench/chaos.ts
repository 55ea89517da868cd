/**
 * Kills promptd at random and then checks that nothing was lost.
 *
 *   npm run chaos -- --kills 1000 --seed 7 [--database embedded|postgres] [--apis 2] [--workers 3] [--lease-ms 6000] [--minutes 120]
 *   npm run chaos -- --kills 1000 --seed 7 --plan
 *
 * The seed gives the plan (what is hit, in which order, after which pauses; --plan prints it), not the interleaving of
 * processes. Prints one JSON line and writes it to bench/results/; the exit code is 1 when anything was lost, charged
 * twice, left held or not ended, and when less was done than planned.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openDatabase } from "../packages/server/src/platform/database.ts";
import { createLog } from "../packages/server/src/platform/log.ts";
import { migrate } from "../packages/server/src/platform/migrate.ts";
import { openInstallationFixture } from "../packages/server/test/installation-fixture.ts";
import { killLeftovers } from "../packages/server/test/promptd-process.ts";
import { startTcpProxy } from "../packages/server/test/tcp-proxy.ts";
import { readCommit } from "./commit.ts";
import { checkHistory } from "./chaos/check-history.ts";
import { checkStorage } from "./chaos/check-storage.ts";
import { startChaosDatabase, type ChaosDatabase } from "./chaos/database-server.ts";
import { createFleet } from "./chaos/fleet.ts";
import { findShortfall, injectFaults } from "./chaos/inject-faults.ts";
import { startLoad } from "./chaos/load.ts";
import { countKinds, describeStep, planFaults } from "./chaos/plan-faults.ts";
import { beginTrace } from "./chaos/trace.ts";
import { watchMachine } from "./chaos/watch-machine.ts";
import { startZombies } from "./chaos/zombies.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "30" },
    seed: { type: "string", default: String(process.pid) },
    database: { type: "string", default: "embedded" },
    apis: { type: "string", default: "2" },
    workers: { type: "string", default: "3" },
    "lease-ms": { type: "string", default: "6000" },
    minutes: { type: "string", default: "120" },
    accounts: { type: "string", default: "12" },
    out: { type: "string" },
    plan: { type: "boolean", default: false },
  },
});

const SETTLE_MS_MAX = 300_000;
const VIOLATIONS_SHOWN = 50;
/** On top of --minutes: for the start, the end of the last run and the checks. */
const REST_MINUTES = 15;

const seed = Number(values.seed);
const processes = { api: Number(values.apis), worker: Number(values.workers) };
const plan = planFaults({ seed, kills: Number(values.kills), seats: processes });
const planned = countKinds(plan);

if (values.plan) printPlan();
else process.exitCode = await main();

function printPlan(): void {
  for (const [i, step] of plan.entries()) console.log(`${i + 1} ${describeStep(step)}`);
  console.log(JSON.stringify({ seed, processes, planned }));
}

/** Whatever happens, there is a JSON line: one that says why when the run did not come to its end. */
async function main(): Promise<number> {
  const kind = values.database === "postgres" ? "postgres" : "embedded";
  console.error(`chaos: seed ${seed}, ${values.kills} kills, ${kind}`);
  const home = mkdtempSync(join(tmpdir(), "promptd-chaos-"));
  const startedMs = performance.now();
  let server: ChaosDatabase | null = null;
  const work = async () => {
    server = await startChaosDatabase(kind, home);
    await migrate(server.url, createLog("silent", "stderr"));
    return run(server, home);
  };
  const ended = await Promise.race([work(), untilBroken()]).catch((error: unknown) => ({
    violations: [`the chaos run broke off: ${error instanceof Error ? error.stack : String(error)}`],
  }));
  const durationS = Math.round((performance.now() - startedMs) / 1_000);
  const text = JSON.stringify({ seed, planned, ...ended, durationS });
  mkdirSync(join(import.meta.dirname, "results"), { recursive: true });
  writeFileSync(values.out ?? join(import.meta.dirname, "results", `chaos-${kind}-${seed}.json`), `${text}\n`);
  console.log(text);
  await killLeftovers();
  await (server as ChaosDatabase | null)?.stop().catch((error: unknown) => console.error("chaos:", error));
  rmSync(home, { recursive: true, force: true });
  // What a broken run left under way must not keep the process.
  setTimeout(() => process.exit(), 1_000).unref();
  return ended.violations.length === 0 ? 0 : 1;
}

/** Rejects when the run is told to stop, takes too long, or something of it fails that nobody waits for. */
function untilBroken(): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  // A terminal or a pipe that went away must not end the run: the result is written to its file all the same.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  process.on("SIGHUP", () => {});
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => reject(new Error(name)));
  process.on("uncaughtException", reject); // rejections nobody handles arrive here as well
  const minutes = Number(values.minutes) + REST_MINUTES;
  setTimeout(() => reject(new Error(`It had not ended after ${minutes} minutes.`)), minutes * 60_000).unref();
  return promise;
}

async function run(server: ChaosDatabase, home: string) {
  const proxy = await startTcpProxy(server.url);
  const fixture = await openInstallationFixture(server.url, {
    DATABASE_URL: proxy.url,
    PROMPTD_LEASE_MS: values["lease-ms"],
    PROMPTD_SECRET: `the same for every process of the chaos run ${seed}`,
    PROMPTD_DRAIN_SECONDS: "1",
    PROMPTD_DATABASE_POOL: "4",
    PROMPTD_LOG_LEVEL: "error",
    NODE_COMPILE_CACHE: join(home, "compile-cache"), // a start costs a third of the time: more kills hit working processes
  });
  // Its own connection, past the proxy and never a victim.
  const db = await openDatabase({ url: server.url, role: "chaos", log: createLog("silent", "stderr") });
  await beginTrace(db);
  const fleet = await createFleet(fixture, processes);
  const machine = watchMachine();
  const zombies = await startZombies(server.url);
  const load = await startLoad(fixture, {
    accounts: Number(values.accounts),
    apiUrls: fleet.apiUrls,
    seed: seed + 1,
  });
  const msMax = Number(values.minutes) * 60_000;
  const injected = await injectFaults({ fleet, server, proxy, db, plan, msMax });
  const { executed, kills, killTimes, outages } = injected;
  console.error("chaos: injections are over, waiting for the last run to end");
  const settleMs = performance.now();
  const told = await load.stop();
  const settled = await fleet.settle(db, SETTLE_MS_MAX);
  const drainMs = Math.round(performance.now() - settleMs);
  const late = await zombies.stop();
  const readBack = await load.readBack();
  const seen = {
    outages,
    slowdowns: await machine.stop(),
    leaseMs: Number(values["lease-ms"]),
    mishaps: fleet.mishaps,
  };
  const checked = await checkHistory(db, { told, accounts: load.accounts, readBack, kills: killTimes, ...seen });
  const violations = [
    ...findShortfall(planned, injected),
    ...checked.violations,
    ...late.violations,
    ...(await checkStorage(server.superuserUrl)),
  ];
  await fleet.stop();
  await db.close();
  await fixture.close();
  await proxy.close();
  return {
    executed,
    kills,
    settled,
    drainMs,
    lateFinishes: late.lateFinishes,
    ...checked,
    violationCount: violations.length,
    violations: violations.slice(0, VIOLATIONS_SHOWN),
    leaseMs: Number(values["lease-ms"]),
    database: server.version,
    processes,
    machine: `${cpus().length} x ${cpus()[0]?.model ?? "?"}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    commit: readCommit(),
    at: new Date().toISOString(),
  };
}
