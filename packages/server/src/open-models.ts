import type { Spool } from "./files/index.ts";
import {
  createAbandonedJobsTick,
  createEnabledModels,
  createModelCaller,
  createProviderCallsTick,
  createTestCall,
  openAdapter,
  type Catalogue,
  type CatalogueEntry,
  type LimitChange,
  type ModelCaller,
  type RunLimit,
} from "./models/index.ts";
import type { Clock } from "./platform/clock.ts";
import { isLoopback, type Config } from "./platform/config/config.ts";
import type { Database } from "./platform/database/database.ts";
import type { Log } from "./platform/log.ts";
import type { Tick } from "./platform/periodic-work.ts";
import { loadCatalogueOf } from "./read-catalogue.ts";
import { adaptModelLimit, writeModelLimits } from "./runs/index.ts";
import { throughOutage } from "./start-failure.ts";

/** What a process knows about models, and how it calls them. */
export interface Models {
  readonly catalogue: Catalogue;
  readonly caller: ModelCaller;
  /** Makes one small test call for an operator. */
  readonly testCall: ReturnType<typeof createTestCall>;
  readonly ticks: readonly Tick[];
  /** Reports which models this process enables, and how many runs of each may run at once in the whole installation. */
  announce(): Promise<void>;
  /** Applies at once what another process or an operator has enabled or disabled. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

export interface OpenModelsOptions {
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly spool: Spool;
  /** False for a process that calls no models: which models are enabled depends on the keys of processes that do. */
  readonly isCaller: boolean;
  /** Cancels the startup. */
  readonly signal?: AbortSignal | undefined;
}

export async function openModels(options: OpenModelsOptions): Promise<Models> {
  const { config, db, clock, log, spool, isCaller } = options;
  const { secret } = config;
  const catalogue = loadCatalogueOf(config);
  const localModels = config.PROMPTD_LOCAL_MODELS && isLoopback(config.HOST);
  const settings = {
    catalogue,
    db,
    log,
    probe: isCaller ? { secret, localModels, ownPort: config.PORT, hasListCheck: config.PROMPTD_CHECK_MODELS } : null,
    foundConcurrency: config.PROMPTD_COMPATIBLE_CONCURRENCY,
    limitRuns: (limits: ReadonlyMap<string, RunLimit>) => writeModelLimits(db, limits),
  };
  const enabled = await throughOutage(() => createEnabledModels(settings), options);
  const adapter = await openAdapter({ catalogue, secret, clock, log, spool });
  const inflightBytesMax = config.PROMPTD_INFLIGHT_BYTES;
  const adaptRuns = (model: string, change: LimitChange) => adaptModelLimit(db, model, change);
  const caller = createModelCaller({ catalogue, db, log, adapter, inflightBytesMax, adaptRuns });
  return {
    catalogue,
    caller,
    testCall: createTestCall(adapter),
    ticks: [
      ...enabled.ticks,
      createProviderCallsTick(db, log),
      ...(isCaller ? [createAbandonedJobsTick({ db, log, catalogue, adapter })] : []),
    ],
    announce: async () => {
      await writeModelLimits(db, new Map(catalogue.entries.map(fixedLimit)));
      await enabled.announce();
    },
    refresh: () => enabled.refresh(),
    close: async () => {
      enabled.close();
      await caller.close();
    },
  };
}

function fixedLimit({ model, limits }: CatalogueEntry): [string, RunLimit] {
  return [model, { max: limits.concurrency, isPaced: false }];
}
