/**
 * Kills promptd at random and then checks that nothing was lost.
 *
 *   npm run chaos -- --kills 1000 --seed 7 [--database embedded|postgres] [--apis 2] [--workers 3] [--lease-ms 1000] [--minutes 120]
 *
 * The seed repeats the schedule of injections (who, what, when), not the interleaving of processes. Prints one JSON line
 * and writes it to bench/results/; the exit code is 1 when anything was lost, charged twice, left held or not ended.
 */
import { execFileSync } from "node:child_process";
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
import { checkHistory } from "./chaos/check-history.ts";
import { startChaosDatabase } from "./chaos/database-server.ts";
import { createFleet } from "./chaos/fleet.ts";
import { injectFaults } from "./chaos/inject-faults.ts";
import { startLoad } from "./chaos/load.ts";
import { createRandom } from "./chaos/random.ts";
import { beginTrace } from "./chaos/trace.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "30" },
    seed: { type: "string", default: String(process.pid) },
    database: { type: "string", default: "embedded" },
    apis: { type: "string", default: "2" },
    workers: { type: "string", default: "3" },
    "lease-ms": { type: "string", default: "1000" },
    minutes: { type: "string", default: "120" },
    accounts: { type: "string", default: "12" },
    out: { type: "string" },
  },
});

const SETTLE_MS_MAX = 120_000;
process.exitCode = await main();

async function main(): Promise<number> {
  const seed = Number(values.seed);
  const kind = values.database === "postgres" ? "postgres" : "embedded";
  console.error(`chaos: seed ${seed}, ${values.kills} kills, ${kind}`);
  const home = mkdtempSync(join(tmpdir(), "promptd-chaos-"));
  const startedMs = performance.now();
  const server = await startChaosDatabase(kind, home);
  try {
    await migrate(server.url, createLog("silent", "stderr"));
    const line = {
      seed,
      ...(await run(server, home, seed)),
      durationS: Math.round((performance.now() - startedMs) / 1_000),
    };
    const text = JSON.stringify(line);
    mkdirSync(join(import.meta.dirname, "results"), { recursive: true });
    writeFileSync(values.out ?? join(import.meta.dirname, "results", `chaos-${kind}-${seed}.json`), `${text}\n`);
    console.log(text);
    return line.violations.length === 0 ? 0 : 1;
  } finally {
    await killLeftovers();
    await server.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

async function run(server: Awaited<ReturnType<typeof startChaosDatabase>>, home: string, seed: number) {
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
  const fleet = await createFleet(fixture, { api: Number(values.apis), worker: Number(values.workers) });
  const load = await startLoad(fixture, {
    accounts: Number(values.accounts),
    apiUrls: fleet.apiUrls,
    random: createRandom(seed + 1),
  });
  const injected = await injectFaults({
    fleet,
    server,
    proxy,
    db,
    random: createRandom(seed),
    killsWanted: Number(values.kills),
    msMax: Number(values.minutes) * 60_000,
  });
  console.error("chaos: injections are over, waiting for the last run to end");
  const settleMs = performance.now();
  const history = await load.stop();
  const settled = await fleet.settle(db, SETTLE_MS_MAX);
  const drainMs = Math.round(performance.now() - settleMs);
  const checked = await checkHistory(db, { history, kills: injected.killTimes, superuserUrl: server.superuserUrl });
  await fleet.stop();
  await db.close();
  await fixture.close();
  await proxy.close();
  return {
    kills: injected.kills,
    stops: injected.stops,
    terms: injected.terms,
    backendTerminations: injected.backendTerminations,
    databaseCrashes: injected.databaseCrashes,
    connectionCuts: injected.connectionCuts,
    settled,
    drainMs,
    ...checked,
    leaseMs: Number(values["lease-ms"]),
    database: server.version,
    processes: { api: Number(values.apis), worker: Number(values.workers) },
    machine: `${cpus().length} x ${cpus()[0]?.model ?? "?"}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    commit: readCommit(),
    at: new Date().toISOString(),
  };
}

function readCommit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: import.meta.dirname, encoding: "utf8" }).trim();
  } catch {
    return "unknown";
  }
}
