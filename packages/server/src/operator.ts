/**
 * What the command line can do in process: serve, migrate, and the operator's acts on the same database that a running
 * server uses. Entry "@promptd/server/operator"; an end-user command never loads it.
 */
import { createAccount, createApiKey, getAccountByName, revokeApiKey, setPlan, type Plan } from "./accounts/index.ts";
import { startApp, type Role } from "./app.ts";
import { availableCredits, checkLedger, grantCredits, type LedgerReport } from "./credits/index.ts";
import { openInstallation, StartFailure } from "./installation.ts";
import { findDemo, seedMarketplace, type Demo } from "./marketplace-seed.ts";
import { CatalogueError, type Catalogue } from "./models/index.ts";
import { loadCatalogueOf } from "./open-models.ts";
import { isoTime, systemClock } from "./platform/clock.ts";
import { ConfigError, readConfig, type Config } from "./platform/config.ts";
import type { Database } from "./platform/database.ts";
import { createIdSource, isUuid } from "./platform/ids.ts";
import { createLog, type Log } from "./platform/log.ts";
import { Problem } from "./platform/problem.ts";
import { stopOnSignal } from "./platform/shutdown.ts";
import {
  parsePromptFile,
  PromptFileError,
  publishPrompts,
  republishPrompt,
  unpublishPrompt,
  type PromptSource,
} from "./prompts/index.ts";

export type Environment = Readonly<Record<string, string | undefined>>;
export type { Demo, LedgerReport, Plan, Role };

export interface ServeOptions {
  readonly environment: Environment;
  readonly role: Role;
  /** True: stdout is for the result alone, so the log goes to stderr. */
  readonly json: boolean;
}

export interface Serving {
  /** Where the API listens; null for a worker. */
  readonly url: string | null;
  readonly demo: Demo | null;
}

/** Starts a server that stops by itself on SIGTERM or SIGINT. Resolves when it is ready. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const config = readConfig(options.environment);
  const log = createLog(config.PROMPTD_LOG_LEVEL, options.json ? "stderr" : "stdout");
  const stop = new AbortController();
  const starting = startApp({ config, role: options.role, log, signal: stop.signal });
  let isStarting = true;
  stopOnSignal(async () => {
    if (isStarting) stop.abort(new StartFailure("The start was given up."));
    await (await starting.catch(() => null))?.close();
  }, log);
  const app = await starting;
  isStarting = false;
  if (options.role === "worker") return { url: null, demo: null };
  const isProduction = config.isProduction && config.DATABASE_URL !== null;
  if (config.PROMPTD_SEED) {
    const { db, catalogue } = app;
    const newId = createIdSource(systemClock);
    const { dataDir } = config;
    await seedMarketplace({ db, catalogue, newId, log, dataDir, withDemoKey: !isProduction });
  }
  return { url: app.url, demo: isProduction ? null : await findDemo(app.db, config.dataDir) };
}

/** Brings the schema up to date and says what was applied. */
export async function migrateDatabase(environment: Environment): Promise<{ applied: readonly string[] }> {
  const { config, log } = prepare(environment);
  const installation = await openInstallation({ config, role: "migrate", log });
  await installation.close();
  return { applied: installation.applied };
}

/** Opens the installation for one command and closes it again, whatever happened. */
export async function withOperator<Result>(
  environment: Environment,
  work: (operator: Operator) => Promise<Result>,
): Promise<Result> {
  const { config, log } = prepare(environment);
  const installation = await openInstallation({ config, role: "operator", log });
  try {
    return await work(new Operator(installation.db, config));
  } finally {
    await installation.close();
  }
}

function prepare(environment: Environment): { config: Config; log: Log } {
  const config = readConfig(environment);
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
    error instanceof PromptFilesFault ||
    error instanceof StartFailure;
  return isExpected ? error.message : null;
}

/** A fault of one file among several that were to be published, with its name. */
class PromptFilesFault extends Error {
  override readonly name = "PromptFilesFault";
}

export interface NewUser {
  readonly email: string;
  readonly username?: string | undefined;
  readonly displayName?: string | undefined;
  readonly plan: Plan;
  readonly credits: number;
}

export interface CreditGrant {
  readonly user: string;
  readonly amount: number;
  readonly reason?: string | undefined;
  /** Milliseconds since 1970; null: never. */
  readonly expiresAtMs: number | null;
  readonly idempotencyKey?: string | undefined;
}

/** The operator's acts. Users are named by e-mail address or id. */
export class Operator {
  readonly #db: Database;
  readonly #config: Config;
  readonly #newId = createIdSource(systemClock);

  constructor(db: Database, config: Config) {
    this.#db = db;
    this.#config = config;
  }

  async createUser(user: NewUser): Promise<{ userId: string; email: string; plan: Plan; credits: number }> {
    const userId = await createAccount(this.#db, this.#newId, user);
    if (user.credits > 0) {
      await grantCredits(this.#db, {
        accountId: userId,
        amount: user.credits,
        reason: "given at creation",
        idempotencyKey: "creation",
        expiresAt: null,
      });
    }
    return { userId, email: user.email.toLowerCase(), plan: user.plan, credits: user.credits };
  }

  async createKey(user: string, name: string): Promise<{ keyId: string; apiKey: string }> {
    const { accountId } = await getAccountByName(this.#db, user);
    return createApiKey(this.#db, this.#newId, { accountId, name });
  }

  async revokeKey(keyId: string): Promise<{ keyId: string; revokedAt: string }> {
    requireUuid("keyId", keyId);
    const revokedAt = await revokeApiKey(this.#db, keyId);
    return { keyId: keyId.toLowerCase(), revokedAt: revokedAt.toISOString() };
  }

  async setPlan(
    user: string,
    plan: Plan,
    untilMs: number | null,
  ): Promise<{ userId: string; plan: Plan; until: string | null }> {
    const { accountId } = await getAccountByName(this.#db, user);
    await setPlan(this.#db, accountId, { plan, untilMs });
    return { userId: accountId, plan, until: plan === "pro" && untilMs !== null ? isoTime(untilMs) : null };
  }

  /** The balance is of credits that can be spent: neither held nor expired. */
  async grantCredits(grant: CreditGrant): Promise<{ credits: number }> {
    const { accountId } = await getAccountByName(this.#db, grant.user);
    await grantCredits(this.#db, {
      accountId,
      amount: grant.amount,
      reason: grant.reason ?? null,
      idempotencyKey: grant.idempotencyKey ?? this.#newId(),
      expiresAt: grant.expiresAtMs === null ? null : isoTime(grant.expiresAtMs),
    });
    return { credits: await availableCredits(this.#db, accountId) };
  }

  /** Publishes files in order, each as a whole or not at all; a file that fails ends the work, those before it stay. */
  async publishPrompts(files: readonly { readonly name: string; readonly text: string }[], author: string) {
    const { accountId } = await getAccountByName(this.#db, author);
    const catalogue = loadCatalogueOf(this.#config);
    const parsed = files.map((file) => ({ name: file.name, sources: this.#parse(file, catalogue) }));
    const published = [];
    for (const { name, sources } of parsed) {
      const options = { authorId: accountId, catalogue, newId: this.#newId };
      published.push(...(await named(name, () => publishPrompts(this.#db, sources, options))));
    }
    const warnings = parsed.flatMap(({ name, sources }) =>
      sources.flatMap((source) => source.warnings.map((warning) => `${name}: ${source.title}: ${warning}`)),
    );
    return { published, warnings };
  }

  async unpublishPrompt(promptId: string): Promise<{ promptId: string; published: false }> {
    requireUuid("promptId", promptId);
    await unpublishPrompt(this.#db, promptId);
    return { promptId: promptId.toLowerCase(), published: false };
  }

  async republishPrompt(promptId: string): Promise<{ promptId: string; published: true }> {
    requireUuid("promptId", promptId);
    await republishPrompt(this.#db, promptId);
    return { promptId: promptId.toLowerCase(), published: true };
  }

  checkLedger(): Promise<LedgerReport> {
    return checkLedger(this.#db);
  }

  #parse({ name, text }: { readonly name: string; readonly text: string }, catalogue: Catalogue): PromptSource[] {
    try {
      return parsePromptFile(text, catalogue, { creditsMax: this.#config.PROMPTD_HOLD_MAX_CREDITS });
    } catch (cause) {
      if (!(cause instanceof PromptFileError)) throw cause;
      throw new PromptFilesFault(`${name} cannot be published; nothing was:\n${cause.message}`, { cause });
    }
  }
}

async function named<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause;
    throw new PromptFilesFault(`${file} was not published: ${cause.message}`, { cause });
  }
}

function requireUuid(name: string, value: string): void {
  if (!isUuid(value)) throw new Problem("VALIDATION_ERROR", `${name} must be a UUID, got "${value}".`);
}
