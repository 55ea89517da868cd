/** The services that the slices of one process share, opened in dependency order. */
import {
  createFiles,
  createGuardedPost,
  readBucket,
  readFileSecrets,
  type Files,
  type GuardedPost,
} from "./files/index.ts";
import type { Closers } from "./platform/resilience/closers.ts";
import type { HttpServerOptions } from "./http/server.ts";
import { makeDataDir, type Installation } from "./installation.ts";
import { faultOfEmbeddingsModel, type Catalogue } from "./models/index.ts";
import { openModels, type Models } from "./open-models.ts";
import { systemClock, type Clock } from "./platform/clock.ts";
import { ConfigError, type Config } from "./platform/config/config.ts";
import type { Database } from "./platform/database/database.ts";
import { createIdSource } from "./platform/ids.ts";
import { finishDeletions } from "./offboarding/index.ts";
import type { Log } from "./platform/log.ts";
import { openMailer, type Mailer } from "./people/index.ts";
import { createNotifications, type Notifications } from "./platform/database/notifications.ts";
import { listPopularity, listSearchDocuments, listSearchedVersions } from "./prompts/index.ts";
import {
  AccountLockQueue,
  createRunCreates,
  RunFollowers,
  WaitingHub,
  type CreateRunOptions,
  type RunCreates,
} from "./runs/index.ts";
import { createSearch, type Search, type SearchOptions } from "./search/index.ts";
import { createSecretVault, type SecretVault } from "./webhooks/index.ts";
import { orStartFailure } from "./start-failure.ts";

/** The secret in a file. A setting may contain the text of such a file, which then means the same secret. */
const SECRET_BYTES = 32;

export type Role = "all" | "api" | "worker";

export interface AppOptions {
  readonly config: Config;
  readonly role: Role;
  readonly log: Log;
  readonly clock?: Clock;
  /** The directory of the built console, which is served at "/". No console when absent. */
  readonly consoleDirectory?: string | undefined;
  /** Cancels the startup. */
  readonly signal?: AbortSignal;
  /** For tests: parses every response with the contract's schemas. */
  readonly checkResponses?: boolean;
  readonly httpLimits?: HttpServerOptions["limits"];
}

/** Slices receive all of it, and declare which part they use. */
export interface AppServices extends AppOptions {
  readonly installation: Installation;
  readonly db: Database;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly notifications: Notifications;
  readonly models: Models;
  /** The catalogue of `models`. */
  readonly catalogue: Catalogue;
  readonly files: Files;
  readonly search: Search;
  /** The server's secret, from which other secrets are derived. */
  readonly secret: Buffer;
  /** Candidates for the secret before a rotation. */
  readonly previousSecrets: readonly Buffer[];
  /** Null: no mail server is configured. */
  readonly mailer: Mailer | null;
  /** Seals and opens webhook secrets. */
  readonly vault: SecretVault;
  /** Sends webhook requests. */
  readonly poster: GuardedPost;
  readonly hub: WaitingHub;
  readonly followers: RunFollowers;
  readonly accountLocks: AccountLockQueue;
  readonly creates: RunCreates;
  /** Aborts when requests must stop waiting for runs. */
  readonly stopping: AbortController;
  /** Continues account deletions that have begun. */
  readonly finishDeletions: (stop?: AbortSignal) => Promise<void>;
  /** Called when a run is canceled: wakes its waiters and the worker that has it. */
  readonly onCanceled: (runId: string) => void;
  /** The base URL in responses and file URLs. */
  readonly publicUrl: () => string;
  /** The address this process listens on. */
  readonly localUrl: () => string;
  /** The port of an API; the configured port until it listens. */
  readonly onListening: (port: number) => void;
}

function filesSettings(config: Config) {
  const { dataDir, PROMPTD_FILE_TTL_SECONDS: ttlSeconds } = config;
  return { dataDir, ttlSeconds, bucket: readBucket(config) };
}

/** What search reads about published prompts. */
function publishedPrompts(db: Database): Pick<SearchOptions, "popularityOf" | "published"> {
  return {
    popularityOf: (promptIds) => listPopularity(db, promptIds),
    published: { listVersions: listSearchedVersions, listDocuments: listSearchDocuments },
  };
}

export async function openServices(
  options: AppOptions,
  installation: Installation,
  closers: Closers,
): Promise<AppServices> {
  const { config, role, log, clock = systemClock } = options;
  const { db } = installation;
  const newId = createIdSource(clock);
  const notifications = createNotifications({ db, listenUrl: installation.listenUrl, role, log });
  closers.add(() => notifications.close());
  const hub = new WaitingHub(db, log);
  notifications.listen("run_done", (ids) => hub.wake(ids));
  notifications.onGap(() => hub.pollAll());
  const followers = new RunFollowers(db, log);
  notifications.listen("run_text", (ids) => followers.wake(ids));
  let here = addressOf(config.HOST, config.PORT);
  const publicUrl = () => config.PROMPTD_PUBLIC_URL ?? here;
  const core = { ...options, db, clock, newId, publicUrl };
  await makeDataDir(config.dataDir);
  const secrets = await orStartFailure(() => readFileSecrets(db, config, log));
  const files = await orStartFailure(() =>
    createFiles({
      ...core,
      ...filesSettings(config),
      secret: secrets.current,
      previousSecrets: secrets.previous,
    }),
  );
  const models = await openModels({ ...core, spool: files.spool, isCaller: role !== "api" });
  closers.add(() => models.close());
  const search = createSearch({ ...core, ...publishedPrompts(db), embeddings: embeddingsOf(config, models) });
  closers.add(() => search.close());
  const accountLocks = new AccountLockQueue();
  const creates = createRunCreates({ db, accountLocks });
  const secret = secrets.current.find(({ length }) => length === SECRET_BYTES) ?? secrets.current[0];
  const onCanceled = (runId: string) => {
    hub.wake([runId]);
    notifications.notify("run_cancel", runId);
    notifications.notify("run_done", runId);
  };
  const deletionPorts = { db, log, files: files.ofAccount, onCanceled };
  return {
    ...core,
    installation,
    models,
    catalogue: models.catalogue,
    files,
    search,
    finishDeletions: (stop) => finishDeletions(deletionPorts, stop),
    onCanceled,
    notifications,
    hub,
    followers,
    accountLocks,
    creates,
    stopping: new AbortController(),
    localUrl: () => here,
    onListening: (port) => {
      here = addressOf(config.HOST, port);
    },
    secret,
    previousSecrets: secrets.previous,
    mailer: openMailer(core),
    vault: createSecretVault(secret, [...secrets.current, ...secrets.previous]),
    poster: createGuardedPost({ allowsPrivate: config.PROMPTD_WEBHOOK_PRIVATE_ADDRESSES }),
  };
}

/** What creating a run needs, for a request or a batch item. */
export function createRunOptions(services: AppServices): CreateRunOptions {
  const { config, db, catalogue, files, accountLocks, creates } = services;
  return {
    db,
    catalogue,
    files,
    accountLocks,
    creates,
    activeRunsMax: config.PROMPTD_ACTIVE_RUNS_MAX,
    holdMaxCredits: config.PROMPTD_HOLD_MAX_CREDITS,
    authorShare: config.PROMPTD_AUTHOR_SHARE,
    chargesAuthors: config.chargesAuthors,
  };
}

/**
 * The embeddings model for search; null: only built-in vectors, and nothing leaves this machine.
 * @throws ConfigError when the setting does not name a usable model.
 */
function embeddingsOf(config: Config, models: Models): NonNullable<SearchOptions["embeddings"]> | null {
  const model = config.PROMPTD_EMBEDDING_MODEL;
  if (model === null) return null;
  const fault = faultOfEmbeddingsModel(models.catalogue, model, config.secret);
  if (fault !== null) throw new ConfigError([`PROMPTD_EMBEDDING_MODEL ${fault}`]);
  return {
    model,
    embedTexts: (texts, signal) => models.caller.embedTexts(model, texts, signal),
    queryPrefix: config.PROMPTD_EMBEDDING_QUERY_PREFIX,
    documentPrefix: config.PROMPTD_EMBEDDING_DOCUMENT_PREFIX,
  };
}

/** A URL that reaches the server from its own machine. A wildcard address cannot be called. */
function addressOf(host: string, port: number): string {
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
