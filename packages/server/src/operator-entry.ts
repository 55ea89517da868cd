/**
 * What the command line can do in process: serve, migrate, and operator actions on the same database that a running
 * server uses. Entry "@promptd/server/operator". End-user commands never load it.
 */
import { fileURLToPath } from "node:url";
import type { Plan } from "./accounts/index.ts";
import type { App, Role } from "./app.ts";
import type { LedgerReport } from "./credits/index.ts";
import { openInstallation } from "./installation.ts";
import { DEMO_ACCOUNT, findDemo, seedMarketplace, type Demo } from "./marketplace-seed.ts";
import type { ModelLine } from "./models/index.ts";
import { systemClock } from "./platform/clock.ts";
import { readConfig, type Config, type Environment } from "./platform/config/config.ts";
import { hasCluster } from "./platform/embedded/files.ts";
import { enableFaults } from "./platform/fault-injection.ts";
import { boundHeapGrowth, returnMemory } from "./platform/v8-heap.ts";
import { createIdSource } from "./platform/ids.ts";
import { accountActions } from "./operator/account-actions.ts";
import { keyActions } from "./operator/key-actions.ts";
import { lookupActions } from "./operator/lookup-actions.ts";
import { modelActions } from "./operator/model-actions.ts";
import { offboardingActions } from "./operator/offboarding-actions.ts";
import { peopleActions } from "./operator/people-actions.ts";
import { promptActions } from "./operator/prompt-actions.ts";
import { auditCommand, makeWelcome, type OperatorCommand } from "./people/index.ts";
import { createLog, type Log } from "./platform/log.ts";
import { settleWithin } from "./platform/resilience/deadline.ts";
import { stopOnSignal } from "./platform/shutdown.ts";
import type { CommandContext } from "./read-catalogue.ts";
import { StartFailure, throughOutage } from "./start-failure.ts";

export type { Demo, Environment, LedgerReport, ModelLine, Plan, Role };
export type { AccountReport } from "./operator/account-actions.ts";
export type { ApiKeyReport } from "./operator/key-actions.ts";
export type { PublishReport } from "./operator/prompt-actions.ts";
export { explainFailure } from "./explain-failure.ts";

export interface ServeOptions {
  readonly environment: Environment;
  readonly role: Role;
  /** True: stdout is only for the result, so the log goes to stderr. */
  readonly json: boolean;
}

export interface Serving {
  /** The API's URL on this machine; null for a worker. */
  readonly url: string | null;
  /** The URL that callers use, PROMPTD_PUBLIC_URL; null when not set. */
  readonly publicUrl: string | null;
  readonly demo: Demo | null;
  /** A link that signs the first operator in, once, within an hour; null: an operator exists, or no API runs here. */
  readonly welcome: string | null;
}

/** Starts a server that stops on SIGTERM or SIGINT, even while starting. Resolves when it is ready. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const config = readConfig(options.environment);
  const log = createLog(config.PROMPTD_LOG_LEVEL, options.json ? "stderr" : "stdout");
  // A person at a terminal waits for the link to the console, so successful startup steps are not logged there.
  if (!options.json && process.stdout.isTTY && log.level === "info") log.level = "warn";
  boundHeapGrowth();
  const stop = new AbortController();
  const starting = startServing({ config, role: options.role, log, signal: stop.signal });
  let isStarting = true;
  stopOnSignal(async (signal) => {
    if (isStarting) stop.abort(new StartFailure("Startup was canceled."));
    if (!(await settleWithin([starting], START_ENDS_MS))) {
      throw new StartFailure("Startup could not be stopped. Exiting the process now.");
    }
    const started = await starting.catch(() => null);
    // Only a load balancer needs time to stop sending requests. A person at the terminal does not.
    const noticeMs = signal === "SIGTERM" ? config.PROMPTD_STOP_NOTICE_SECONDS * 1_000 : 0;
    await started?.app.close({ noticeMs });
  }, log);
  const { app, demo, welcome } = await starting.finally(() => (log.level = config.PROMPTD_LOG_LEVEL));
  stop.signal.throwIfAborted(); // stopped meanwhile: do not report this server as running
  isStarting = false;
  return { url: app.listenUrl, publicUrl: app.publicUrl, demo, welcome };
}

/** By then, an aborted startup has ended or hangs in something that ignores the abort. */
const START_ENDS_MS = 20_000;

/** Next to this package, both in the repository and in an installation. */
const CONSOLE = fileURLToPath(new URL("../../console/dist", import.meta.url));

interface Start {
  readonly config: Config;
  readonly role: Role;
  readonly log: Log;
  readonly signal: AbortSignal;
}

async function startServing(start: Start): Promise<{ app: App; demo: Demo | null; welcome: string | null }> {
  const { startApp } = await import("./app.ts"); // the HTTP layer, workers, and image decoding, which no other action needs
  const app = await startApp({ ...start, consoleDirectory: CONSOLE });
  try {
    if (start.role === "worker") return { app, demo: null, welcome: null };
    const withDemoKey = await throughOutage(() => openMarketplace(app, start), start);
    const [demo, welcome] = await Promise.all([
      withDemoKey ? throughOutage(() => findDemo({ ...app, dataDir: start.config.dataDir }), start) : null,
      throughOutage(() => makeWelcome(app, { ...start, demoAccount: DEMO_ACCOUNT }), start),
    ]);
    return { app, demo, welcome };
  } catch (error) {
    await app.close();
    throw error;
  }
}

/**
 * Seeds whatever is still missing, so it may run again. Production means real users, who must not be exposed to a demo
 * key in a file that nobody asked for.
 * @returns whether there may be a demo key.
 */
async function openMarketplace({ db, catalogue }: App, { config, log, signal }: Start): Promise<boolean> {
  const { dataDir } = config;
  const withDemoKey = !(config.isProduction && config.DATABASE_URL !== null);
  if (config.PROMPTD_SEED) {
    const newId = createIdSource(systemClock);
    if (await seedMarketplace({ db, catalogue, newId, log, dataDir, withDemoKey, signal })) returnMemory();
  }
  return withDemoKey;
}

/** Brings the schema up to date and returns what was applied. A rollback also replaces a newer version's SQL functions. */
export async function migrateDatabase(
  environment: Environment,
  { signal, isRollback }: { readonly signal: AbortSignal; readonly isRollback: boolean },
): Promise<{ applied: readonly string[] }> {
  const { config, log } = prepare(environment);
  const installation = await openInstallation({
    config,
    role: "migrate",
    log,
    signal,
    migrations: isRollback ? "rollback" : "upgrade",
  });
  await installation.close();
  return { applied: installation.applied };
}

/** Opens the installation for one command, and always closes it again. */
export async function withOperator<Result>(
  environment: Environment,
  work: (operator: Operator) => Promise<Result>,
  command: OperatorCommand | null = null,
): Promise<Result> {
  const { config, log } = prepare(environment);
  if (config.DATABASE_URL === null && !(await hasCluster(config.dataDir))) throw new NoDatabaseFailure(config.dataDir);
  const installation = await openInstallation({ config, role: "operator", log, migrations: "create", retryMs: 0 });
  if (installation.applied.length > 0 && !installation.isEmbedded) {
    log.warn(
      "promptd's tables did not exist in this database and were created; check that DATABASE_URL is the server's",
    );
  }
  const { db } = installation;
  try {
    const newId = createIdSource(systemClock);
    return await auditCommand(work(createOperator({ db, config, log, newId })), { command, db, log, newId });
  } finally {
    await installation.close();
  }
}

/** A command needs the database of a server on this machine, but there is none. */
export class NoDatabaseFailure extends StartFailure {
  constructor(dataDir: string) {
    super(
      `The data directory ${dataDir} contains no promptd database, and none was created.
Set PROMPTD_DATA_DIR or DATABASE_URL to the server's value, or start a server there first: npx promptd serve`,
    );
  }
}

function prepare(environment: Environment): { config: Config; log: Log } {
  const config = readConfig(environment);
  if (config.PROMPTD_FAULT !== null) enableFaults(config.PROMPTD_FAULT);
  // Commands print their own results, so log only what goes wrong.
  const level = config.PROMPTD_LOG_LEVEL === "info" ? "warn" : config.PROMPTD_LOG_LEVEL;
  return { config, log: createLog(level, "stderr") };
}

/** Operator actions, by subject. Users are named by email address or id. */
export interface Operator {
  readonly accounts: ReturnType<typeof accountActions>;
  readonly keys: ReturnType<typeof keyActions>;
  readonly people: ReturnType<typeof peopleActions>;
  readonly lookup: ReturnType<typeof lookupActions>;
  readonly models: ReturnType<typeof modelActions>;
  readonly prompts: ReturnType<typeof promptActions>;
  readonly offboarding: ReturnType<typeof offboardingActions>;
}

export function createOperator(context: CommandContext): Operator {
  return {
    accounts: accountActions(context),
    keys: keyActions(context),
    people: peopleActions(context),
    lookup: lookupActions(context),
    models: modelActions(context),
    prompts: promptActions(context),
    offboarding: offboardingActions(context),
  };
}
