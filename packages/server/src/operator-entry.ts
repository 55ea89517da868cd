/**
 * What the command line can do in process: serve, migrate, and the operator's acts on the same database that a running
 * server uses. Entry "@promptd/server/operator"; an end-user command never loads it.
 */
import { fileURLToPath } from "node:url";
import type { Plan } from "./accounts/index.ts";
import type { App, Role } from "./app.ts";
import type { LedgerReport } from "./credits/index.ts";
import { openInstallation } from "./installation.ts";
import { DEMO_ACCOUNT, findDemo, seedMarketplace, type Demo } from "./marketplace-seed.ts";
import { CatalogueError, type ModelLine } from "./models/index.ts";
import { systemClock } from "./platform/clock.ts";
import { ConfigError, readConfig, type Config, type Environment } from "./platform/config/config.ts";
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
import { Problem } from "./platform/problem.ts";
import { settleWithin } from "./platform/resilience/deadline.ts";
import { stopOnSignal } from "./platform/shutdown.ts";
import { PromptFileError } from "./prompts/index.ts";
import type { CommandContext } from "./read-catalogue.ts";
import { StartFailure, throughOutage } from "./start-failure.ts";

export type { Demo, Environment, LedgerReport, ModelLine, Plan, Role };
export type { AccountReport } from "./operator/account-actions.ts";
export type { ApiKeyReport } from "./operator/key-actions.ts";
export type { PublishReport } from "./operator/prompt-actions.ts";

export interface ServeOptions {
  readonly environment: Environment;
  readonly role: Role;
  /** True: stdout is for the result alone, so the log goes to stderr. */
  readonly json: boolean;
}

export interface Serving {
  /** Where the API listens, as this machine can call it; null for a worker. */
  readonly url: string | null;
  /** Where callers reach it, PROMPTD_PUBLIC_URL; null when that is not set. */
  readonly publicUrl: string | null;
  readonly demo: Demo | null;
  /** A link that signs the first operator in, once, within an hour; null: there is an operator, or no API here. */
  readonly welcome: string | null;
}

/** Starts a server that stops by itself on SIGTERM or SIGINT, also while it starts. Resolves when it is ready. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const config = readConfig(options.environment);
  const log = createLog(config.PROMPTD_LOG_LEVEL, options.json ? "stderr" : "stdout");
  // A person waits for the link that opens the console: what goes well before it is worth no line on a terminal.
  if (!options.json && process.stdout.isTTY && log.level === "info") log.level = "warn";
  boundHeapGrowth();
  const stop = new AbortController();
  const starting = startServing({ config, role: options.role, log, signal: stop.signal });
  let isStarting = true;
  stopOnSignal(async (signal) => {
    if (isStarting) stop.abort(new StartFailure("The start was given up."));
    if (!(await settleWithin([starting], START_ENDS_MS))) {
      throw new StartFailure("The start hangs; the process is ended as it is.");
    }
    const started = await starting.catch(() => null);
    // Only a load balancer needs time to stop sending requests, not a person at the terminal.
    const noticeMs = signal === "SIGTERM" ? config.PROMPTD_STOP_NOTICE_SECONDS * 1_000 : 0;
    await started?.app.close({ noticeMs });
  }, log);
  const { app, demo, welcome } = await starting.finally(() => (log.level = config.PROMPTD_LOG_LEVEL));
  stop.signal.throwIfAborted(); // stopped meanwhile: this server must not be reported as running
  isStarting = false;
  return { url: app.listenUrl, publicUrl: app.publicUrl, demo, welcome };
}

/** A start that was aborted has ended by then, or hangs in something that ignores the abort. */
const START_ENDS_MS = 20_000;

/** Beside this package, in the repository and where packages are installed. */
const CONSOLE = fileURLToPath(new URL("../../console/dist", import.meta.url));

interface Start {
  readonly config: Config;
  readonly role: Role;
  readonly log: Log;
  readonly signal: AbortSignal;
}

async function startServing(start: Start): Promise<{ app: App; demo: Demo | null; welcome: string | null }> {
  const { startApp } = await import("./app.ts"); // the edge, the workers, image decoding: no other act needs them
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
 * Does what is not there yet, so it may be done again. Production means real users: a key that stands in a file nobody
 * asked for is no way in.
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

/** Brings the schema up to date and says what was applied; `rollback` also takes back a newer version's SQL functions. */
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

/** Opens the installation for one command and closes it again, whatever happened. */
export async function withOperator<Result>(
  environment: Environment,
  work: (operator: Operator) => Promise<Result>,
  command: OperatorCommand | null = null,
): Promise<Result> {
  const { config, log } = prepare(environment);
  if (config.DATABASE_URL === null && !(await hasCluster(config.dataDir))) throw new NoDatabaseFailure(config.dataDir);
  const installation = await openInstallation({ config, role: "operator", log, migrations: "create", retryMs: 0 });
  if (installation.applied.length > 0 && !installation.isEmbedded) {
    log.warn("promptd's tables were not in this database and have been made; is DATABASE_URL the server's?");
  }
  const { db } = installation;
  try {
    const newId = createIdSource(systemClock);
    return await auditCommand(work(createOperator({ db, config, log, newId })), { command, db, log, newId });
  } finally {
    await installation.close();
  }
}

/** A command was to work on the database of a server on this machine, and there is none. */
export class NoDatabaseFailure extends StartFailure {
  constructor(dataDir: string) {
    super(
      `There is no promptd database in the data directory ${dataDir}, and none was made.
Set PROMPTD_DATA_DIR or DATABASE_URL to those of the server, or start a server there first: npx promptd serve`,
    );
  }
}

function prepare(environment: Environment): { config: Config; log: Log } {
  const config = readConfig(environment);
  if (config.PROMPTD_FAULT !== null) enableFaults(config.PROMPTD_FAULT);
  // Commands speak for themselves; only what went wrong is worth a line beside them.
  const level = config.PROMPTD_LOG_LEVEL === "info" ? "warn" : config.PROMPTD_LOG_LEVEL;
  return { config, log: createLog(level, "stderr") };
}

/** Text for the operator of a failure that is no bug: bad settings, a refused act, a faulty file; else null. */
export function explainFailure(error: unknown): string | null {
  const isExpected =
    error instanceof ConfigError ||
    error instanceof Problem ||
    error instanceof PromptFileError ||
    error instanceof CatalogueError ||
    error instanceof StartFailure;
  return isExpected ? error.message : null;
}

/** What an operator does, by subject. Users are named by email address or id. */
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
