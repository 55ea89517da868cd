/** The setting of a chaos run: a fleet of processes, their callers, the proxy to their database, and the observers. */
import { join } from "node:path";
import type { Closers } from "../../packages/server/src/platform/resilience/closers.ts";
import { openDatabase, type Database } from "../../packages/server/src/platform/database/database.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";
import {
  openInstallationFixture,
  type InstallationFixture,
} from "../../packages/server/test/support/installation-fixture.ts";
import { startTcpProxy, type TcpProxy } from "../../packages/server/test/support/tcp-proxy.ts";
import type { ChaosDatabase } from "./database-server.ts";
import { createFleet, type Fleet } from "./fleet.ts";
import { startBatchLoad, type BatchLoad } from "./batch-load.ts";
import { startLoad, type Load } from "./load.ts";
import type { PlanOptions } from "./plan-faults.ts";
import { beginTrace } from "./trace.ts";
import { watchMachine, type MachineWatch } from "./watch-machine.ts";
import { startZombies, type Zombies } from "./zombies.ts";

export interface SceneOptions extends Pick<PlanOptions, "seed" | "seats"> {
  /** With an empty, migrated database. */
  readonly server: ChaosDatabase;
  /** A directory only for this run. */
  readonly home: string;
  readonly leaseMs: number;
  readonly accounts: number;
}

export interface Scene {
  readonly server: ChaosDatabase;
  readonly leaseMs: number;
  readonly proxy: TcpProxy;
  /** A separate connection that bypasses the proxy and is never a victim. */
  readonly db: Database;
  readonly fleet: Fleet;
  readonly machine: MachineWatch;
  readonly zombies: Zombies;
  readonly load: Load;
  /** Batches, and the webhook that is notified of their runs. */
  readonly batchLoad: BatchLoad;
}

/** @param closers gets each part as soon as it is open, so that a half-built scene is closed too. */
export async function openScene(options: SceneOptions, closers: Closers): Promise<Scene> {
  const { server, leaseMs } = options;
  const proxy = await startTcpProxy(server.url);
  closers.add(() => proxy.close());
  const fixture = await openInstallationFixture(server.url, environmentOf(options, proxy));
  closers.add(() => fixture.close());
  const db = await openDatabase({ url: server.url, role: "chaos", log: createLog("silent", "stderr") });
  closers.add(() => db.close());
  await beginTrace(db);
  const fleet = await createFleet(fixture, options.seats);
  closers.add(() => fleet.stop());
  const machine = watchMachine();
  closers.add(() => machine.stop());
  const zombies = await startZombies(server.url);
  closers.add(() => zombies.stop());
  const batchLoad = await startBatchLoad(fixture, { apiUrls: fleet.apiUrls, seed: options.seed + 2 });
  closers.add(() => batchLoad.close());
  closers.add(async () => void batchLoad.stop()); // like the load
  const load = await openLoad(options, fixture, fleet);
  closers.add(async () => void load.stop()); // not awaited: a caller keeps trying for long when nobody responds
  return { server, leaseMs, proxy, db, fleet, machine, zombies, load, batchLoad };
}

function environmentOf({ seed, home, leaseMs }: SceneOptions, proxy: TcpProxy): Record<string, string> {
  return {
    DATABASE_URL: proxy.url,
    PROMPTD_LEASE_MS: String(leaseMs),
    PROMPTD_SECRET: `the same for every process of the chaos run ${seed}`,
    PROMPTD_DRAIN_SECONDS: "1",
    PROMPTD_AUTHOR_SHARE: "37",
    PROMPTD_DATABASE_POOL: "4",
    PROMPTD_WEBHOOK_PRIVATE_ADDRESSES: "on",
    PROMPTD_LOG_LEVEL: "error",
    NODE_COMPILE_CACHE: join(home, "compile-cache"), // a start takes a third of the time, so more kills hit working processes
  };
}

function openLoad({ accounts, seed }: SceneOptions, fixture: InstallationFixture, fleet: Fleet): Promise<Load> {
  return startLoad(fixture, { accounts, apiUrls: fleet.apiUrls, seed: seed + 1 });
}
