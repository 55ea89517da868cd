import { createEnabledModels, loadCatalogue, type Catalogue } from "./models/index.ts";
import type { Config } from "./platform/config.ts";
import type { Database } from "./platform/database.ts";
import type { Log } from "./platform/log.ts";

interface ReadCatalogueOptions {
  readonly config: Config;
  readonly db: Database;
  readonly log: Log;
}

/** What the installation offers, models found at run time included, as its serving processes wrote it down. */
export async function readCatalogue({ config, db, log }: ReadCatalogueOptions): Promise<Catalogue> {
  const catalogue = loadCatalogueOf(config);
  (await createEnabledModels({ catalogue, db, log, probe: null, limitRuns: async () => {} })).close();
  return catalogue;
}

/** The shipped catalogue with the operator's overlay. @throws CatalogueError with every fault. */
export function loadCatalogueOf(config: Config): Catalogue {
  const { PROMPTD_MODELS_FILE: overlayFile, PROMPTD_SANDBOX: sandbox, secret } = config;
  return loadCatalogue({ overlayFile, sandbox, hasSecret: (name) => secret(name) !== null });
}
