import { createEnabledModels, loadCatalogue, type Catalogue, type CatalogueOptions } from "./models/index.ts";
import type { Config } from "./platform/config/config.ts";
import type { Database } from "./platform/database/database.ts";
import type { Log } from "./platform/log.ts";

/** What operator commands work with. */
export interface CommandContext {
  readonly config: Config;
  readonly db: Database;
  readonly log: Log;
  readonly newId: () => string;
}

/** What the installation offers, including models found at run time, as recorded by its serving processes. */
export async function readCatalogue({ config, db, log }: CommandContext): Promise<Catalogue> {
  const catalogue = loadCatalogueOf(config);
  const foundConcurrency = config.PROMPTD_COMPATIBLE_CONCURRENCY;
  const settings = { catalogue, db, log, probe: null, foundConcurrency, limitRuns: async () => {} };
  (await createEnabledModels(settings)).close();
  return catalogue;
}

/** The shipped catalogue with the operator's overlay. @throws CatalogueError with every error. */
export function loadCatalogueOf(config: Config): Catalogue {
  return loadCatalogue({ overlayFile: config.PROMPTD_MODELS_FILE, ...catalogueOptions(config) });
}

/** What a catalogue needs from the configuration, whichever overlay it is read with. */
export function catalogueOptions(config: Config): Omit<CatalogueOptions, "overlayFile"> {
  const { PROMPTD_SANDBOX: sandbox, secret, keyFaults } = config;
  return { sandbox, keyFaults, hasSecret: (name) => secret(name) !== null };
}
