import {
  createEnabledModels,
  createModelCaller,
  loadCatalogue,
  type Catalogue,
  type ModelCaller,
} from "./models/index.ts";
import type { Clock } from "./platform/clock.ts";
import { isLoopback, type Config } from "./platform/config.ts";
import type { Database } from "./platform/database.ts";
import type { Log } from "./platform/log.ts";
import type { Tick } from "./platform/ticks.ts";

/** What a process knows of models, and how it calls them. */
export interface Models {
  readonly catalogue: Catalogue;
  readonly caller: ModelCaller;
  readonly ticks: readonly Tick[];
  /** Runs of each model that may be under way in the whole installation. */
  runLimits(): ReadonlyMap<string, number>;
  close(): Promise<void>;
}

export interface OpenModelsOptions {
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** False for a process that calls no model: what is enabled depends on the keys of those that do. */
  readonly isCaller: boolean;
}

export async function openModels({ config, db, clock, log, isCaller }: OpenModelsOptions): Promise<Models> {
  const { secret } = config;
  const catalogue = loadCatalogueOf(config);
  const localModels = config.PROMPTD_LOCAL_MODELS && isLoopback(config.HOST);
  const enabled = await createEnabledModels({
    catalogue,
    db,
    log,
    probe: isCaller ? { secret, localModels, ownPort: config.PORT } : null,
  });
  const caller = createModelCaller({
    catalogue,
    db,
    clock,
    log,
    secret,
    inflightBytesMax: config.PROMPTD_INFLIGHT_BYTES,
  });
  return {
    catalogue,
    caller,
    ticks: enabled.ticks,
    runLimits: () => new Map(catalogue.entries.map((entry) => [entry.model, entry.limits.concurrency])),
    close: async () => {
      enabled.close();
      await caller.close();
    },
  };
}

/** What the installation offers, models found at run time included, as its serving processes wrote it down. */
export async function readCatalogue({
  config,
  db,
  log,
}: Pick<OpenModelsOptions, "config" | "db" | "log">): Promise<Catalogue> {
  const catalogue = loadCatalogueOf(config);
  (await createEnabledModels({ catalogue, db, log, probe: null })).close();
  return catalogue;
}

/** The shipped catalogue with the operator's overlay. @throws CatalogueError with every fault. */
function loadCatalogueOf(config: Config): Catalogue {
  const { PROMPTD_MODELS_FILE: overlayFile, PROMPTD_SANDBOX: sandbox, secret } = config;
  return loadCatalogue({ overlayFile, sandbox, hasSecret: (name) => secret(name) !== null });
}
