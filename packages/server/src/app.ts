/**
 * The composition root: the only file that knows every slice. It opens what a process of the given role needs, passes
 * each slice its neighbours as functions, and takes it all down again in an order that answers every waiting caller.
 */
import { accountsRoutes, createDoor, type Door } from "./accounts/index.ts";
import { createAudit, creditsRoutes, expireCredits } from "./credits/index.ts";
import {
  checkImageInputs,
  createFiles,
  loadOrCreateSecret,
  loadPreviousSecret,
  type Files,
  type FilesOptions,
} from "./files/index.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "./http/server.ts";
import { makeDataDir, openInstallation, type Installation } from "./installation.ts";
import { orListenFailure, orStartFailure } from "./start-failure.ts";
import { openModels, type Models } from "./open-models.ts";
import { modelsRoutes, settlePrice, uncappedPrice, type Catalogue } from "./models/index.ts";
import { systemClock, type Clock } from "./platform/clock.ts";
import type { Config } from "./platform/config.ts";
import { openDatabase, type Database } from "./platform/database.ts";
import { enableFaults } from "./platform/fault.ts";
import { createIdSource } from "./platform/ids.ts";
import type { Log } from "./platform/log.ts";
import { createSignals, type Signals } from "./platform/signals.ts";
import { startTicks, type Tick } from "./platform/ticks.ts";
import {
  findVersion,
  listPopularity,
  promptsRoutes,
  refreshEstimates,
  renderStep,
  stepOptions,
} from "./prompts/index.ts";
import {
  countUses,
  createFinisher,
  pruneIdempotencyKeys,
  readDelivered,
  runsRoutes,
  saveDelivered,
  WaitingHub,
  writeModelLimits,
  Worker,
} from "./runs/index.ts";
import { createSearch, type Search, type SearchOptions } from "./search/index.ts";

export type Role = "all" | "api" | "worker";

export interface AppOptions {
  readonly config: Config;
  readonly role: Role;
  readonly log: Log;
  readonly clock?: Clock;
  /** Gives the start up. */
  readonly signal?: AbortSignal;
  /** For tests: every answer is parsed by the contract's schemas. */
  readonly checkResponses?: boolean;
  readonly httpLimits?: HttpServerOptions["limits"];
}

export interface App {
  /** Where the API listens; null for a worker. */
  readonly url: string | null;
  readonly db: Database;
  readonly catalogue: Catalogue;
  /** Answers every waiting request, lets runs finish or gives them back, and closes everything. */
  close(): Promise<void>;
}

/** Everything the slices of one process share. */
interface Parts {
  readonly options: AppOptions;
  readonly installation: Installation;
  readonly db: Database;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly signals: Signals;
  readonly models: Models;
  readonly files: Files;
  readonly search: Search;
  readonly hub: WaitingHub;
  readonly address: { url: string };
}

export async function startApp(options: AppOptions): Promise<App> {
  const { config, role, log } = options;
  if (config.PROMPTD_FAULT !== null) enableFaults(config.PROMPTD_FAULT);
  const undo = createUndo(log);
  try {
    const installation = await openInstallation({ config, role, log, signal: options.signal });
    undo.add(() => installation.close());
    return await openApp(await openParts(options, installation, undo), undo);
  } catch (error) {
    await undo.run(); // a start that fails leaves nothing running, above all no database server
    throw error;
  }
}

async function openApp(parts: Parts, undo: Undo): Promise<App> {
  const { options, installation, db, models } = parts;
  const { config, role, log } = options;
  await writeModelLimits(db, models.runLimits());
  const worker = role === "api" ? null : await openWorker(parts, undo);
  const door = openDoor(parts);
  undo.add(() => door.close());
  const server = role === "worker" ? null : openServer(parts, { door, worker });
  if (server !== null) {
    undo.add(() => server.close());
    const address = { host: config.HOST, port: config.PORT };
    const { port } = await orListenFailure(address, () => server.listen(address));
    parts.address.url = config.PROMPTD_PUBLIC_URL ?? localUrl(config.HOST, port);
  }
  await worker?.worker.start();
  if (server !== null) void parts.search.warm();
  const ticks = await startTicks(db, periodicWork(parts), log);
  const closeAll = async (): Promise<void> => {
    server?.stopAccepting();
    parts.hub.drain();
    await Promise.all([server?.close(), worker?.worker.drain(config.PROMPTD_DRAIN_SECONDS * 1_000)]);
    await Promise.all([ticks.stop(), door.close(), parts.search.close(), models.close()]);
    await Promise.all([parts.signals.close(), worker?.beats.close()]);
    await installation.close();
  };
  let closing: Promise<void> | null = null;
  return {
    url: server === null ? null : parts.address.url,
    db,
    catalogue: models.catalogue,
    close: () => (closing ??= closeAll()), // closed twice is closed once
  };
}

/** What a start that fails half-way has to take down again, the last thing first. */
interface Undo {
  add(close: () => Promise<unknown>): void;
  run(): Promise<void>;
}

function createUndo(log: Log): Undo {
  const steps: (() => Promise<unknown>)[] = [];
  return {
    add: (close) => void steps.unshift(close),
    run: async () => {
      for (const close of steps) {
        await close().catch((error: unknown) => log.warn({ err: error }, "a failed start was not undone completely"));
      }
    },
  };
}

/** An address that reaches the server from its own machine: every address is no address to call. */
function localUrl(host: string, port: number): string {
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

async function openParts(options: AppOptions, installation: Installation, undo: Undo): Promise<Parts> {
  const { config, role, log } = options;
  const { db } = installation;
  const clock = options.clock ?? systemClock;
  const newId = createIdSource(clock);
  const signals = createSignals({ db, listenUrl: installation.listenUrl, role, log });
  undo.add(() => signals.close());
  const hub = new WaitingHub(db, log);
  signals.listen("run_done", (ids) => hub.wake(ids));
  signals.onGap(() => hub.lookAtAll());
  const address = { url: config.PROMPTD_PUBLIC_URL ?? localUrl(config.HOST, config.PORT) };
  const models = await openModels({ config, db, clock, log, isCaller: role !== "api" });
  undo.add(() => models.close());
  await makeDataDir(config.dataDir);
  const secrets = await orStartFailure(async () => ({
    secret: await readServerSecret(config),
    previousSecret: await readPreviousSecret(config),
    bucket: readBucket(config),
  }));
  const files = await orStartFailure(() =>
    createFiles({
      db,
      dataDir: config.dataDir,
      publicUrl: () => address.url,
      ttlSeconds: config.PROMPTD_FILE_TTL_SECONDS,
      ...secrets,
      clock,
      newId,
      log,
    }),
  );
  const popularityOf = (promptIds: readonly string[]) => listPopularity(db, promptIds);
  const search = createSearch({ db, log, clock, popularityOf, embeddings: embeddingsOf(config, models) });
  undo.add(() => search.close());
  return { options, installation, db, clock, newId, signals, models, files, search, hub, address };
}

/** The model that embeds for search; null: the built-in vectors alone, and nothing leaves this machine. */
function embeddingsOf(config: Config, models: Models): NonNullable<SearchOptions["embeddings"]> | null {
  const model = config.PROMPTD_EMBEDDING_MODEL;
  if (model === null) return null;
  return { model, embedTexts: (texts, signal) => models.caller.embedTexts(model, texts, signal) };
}

/** From the setting, or the one kept in the data directory. */
async function readServerSecret(config: Config): Promise<Buffer> {
  return config.PROMPTD_SECRET === null ? loadOrCreateSecret(config.dataDir) : Buffer.from(config.PROMPTD_SECRET);
}

async function readPreviousSecret(config: Config): Promise<Buffer | null> {
  if (config.PROMPTD_SECRET === null) return loadPreviousSecret(config.dataDir);
  return config.PROMPTD_SECRET_PREVIOUS === null ? null : Buffer.from(config.PROMPTD_SECRET_PREVIOUS);
}

/** The bucket that files go to instead of the data directory; null: no bucket is set. */
function readBucket(config: Config): NonNullable<FilesOptions["bucket"]> | null {
  const { PROMPTD_S3_BUCKET: bucket, PROMPTD_S3_ENDPOINT: endpoint, secret } = config;
  if (bucket === null || endpoint === null) return null;
  return {
    endpoint,
    bucket,
    region: config.PROMPTD_S3_REGION,
    prefix: config.PROMPTD_S3_PREFIX,
    accessKeyId: secret("AWS_ACCESS_KEY_ID") ?? "",
    secretAccessKey: secret("AWS_SECRET_ACCESS_KEY") ?? "",
  };
}

function openDoor({ options, db, clock }: Parts): Door {
  const { config, log } = options;
  return createDoor({
    db,
    clock,
    log,
    limitPerSecond: config.PROMPTD_RATE_LIMIT_PER_SECOND,
    scope: config.PROMPTD_RATE_LIMIT_SCOPE,
    plans: config.PROMPTD_PLANS,
  });
}

interface WorkerParts {
  readonly worker: Worker;
  readonly beats: Database;
}

async function openWorker(parts: Parts, undo: Undo): Promise<WorkerParts> {
  const { options, installation, db, signals, files, models, hub, newId } = parts;
  const { config, log } = options;
  const beats = await openDatabase({ url: installation.url, role: `${options.role}-beat`, poolMax: 1, log });
  undo.add(() => beats.close());
  const onFinished = (runIds: readonly string[]) => {
    hub.wake(runIds);
    for (const runId of runIds) signals.ring("run_done", runId);
  };
  const worker: Worker = new Worker({
    db,
    beats,
    signals,
    log,
    newId,
    concurrency: config.PROMPTD_WORKER_CONCURRENCY,
    leaseMs: config.PROMPTD_LEASE_MS,
    isLocalDatabase: installation.isEmbedded,
    onSwept: onFinished,
    createFinisher: (workerId) => createFinisher({ db, files, log, workerId, onFinished }),
    ports: {
      findVersion: (promptVersionId) => findVersion(db, promptVersionId),
      findModel: (model) => {
        const entry = models.catalogue.find(model);
        return entry === null ? null : { entry, isEnabled: models.catalogue.isEnabled(model) };
      },
      renderStep,
      stepOptions: (version, index, runOptions) => stepOptions(version, index, runOptions, models.catalogue),
      loadImages: (images, limits, signal) => files.loadImages(images, limits, signal),
      callModel: (request, signal) => models.caller.call(request, signal),
      keepOutput: (output, signal) => files.keepOutput(output, signal),
      settlePrice: (run, prices, delivered) => {
        const actual = uncappedPrice(prices, delivered);
        const { ceiling } = prices;
        if (actual > ceiling)
          log.warn({ runId: run.runId, actual, ceiling }, "a run cost more than it held; the rest is ours");
        return settlePrice(prices, delivered);
      },
      readDelivered: (run) => readDelivered(db, run),
      saveDelivered: (run, item) => saveDelivered(db, worker.workerId, run, item),
    },
  });
  undo.add(() => worker.drain(0));
  return { worker, beats };
}

function openServer(parts: Parts, role: { door: Door; worker: WorkerParts | null }): HttpServer {
  const { options, db, newId, models, files, search, hub, signals, address } = parts;
  const { config, log } = options;
  const { catalogue } = models;
  return createHttpServer({
    log,
    newId,
    enter: role.door.enter,
    resourcesHash: () => catalogue.resources().hash,
    endpoints: {
      ...accountsRoutes(db),
      ...creditsRoutes(db),
      ...modelsRoutes(catalogue),
      ...promptsRoutes({ db, search, catalogue }),
      ...runsRoutes({
        db,
        catalogue,
        files,
        hub,
        newId,
        publicUrl: () => address.url,
        syncWaitMs: config.PROMPTD_SYNC_WAIT_MS,
        activeRunsMax: config.PROMPTD_ACTIVE_RUNS_MAX,
        holdMaxCredits: config.PROMPTD_HOLD_MAX_CREDITS,
        onCreated: () => {
          role.worker?.worker.wake();
          signals.ring("run_ready");
        },
        onCanceled: (runId) => {
          hub.wake([runId]);
          signals.ring("run_cancel", runId);
          signals.ring("run_done", runId);
        },
      }),
    },
    openFile: files.openFile,
    readiness: () => lookAtReadiness(parts),
    checkImages: checkImageInputs,
    rate: { perSecond: config.PROMPTD_RATE_LIMIT_PER_SECOND, scope: config.PROMPTD_RATE_LIMIT_SCOPE },
    corsOrigins: config.PROMPTD_CORS_ORIGINS,
    checkResponses: options.checkResponses ?? false,
    limits: {
      requestMs: config.PROMPTD_REQUEST_SECONDS * 1_000,
      openRequestsMax: config.PROMPTD_OPEN_REQUESTS_MAX,
      ...options.httpLimits,
    },
  });
}

/** Ready: the database answers. What weakens durability is told but does not make a process unready. */
async function lookAtReadiness({ db, options }: Parts) {
  try {
    const rows = await db.query<{ name: string }>(
      "select name from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off'",
    );
    return { ready: true, details: { role: options.role, database: "ok", switchedOff: rows.map((row) => row.name) } };
  } catch (error) {
    options.log.warn({ err: error }, "not ready: the database does not answer");
    return { ready: false, details: { role: options.role, database: "unreachable" } };
  }
}

/** Seconds between turns: each is as often as its promise needs and as seldom as it may be. */
function periodicWork({ db, clock, files, models, search, options }: Parts): Tick[] {
  return [
    ...files.ticks,
    ...models.ticks,
    ...search.ticks,
    { name: "estimates", everySeconds: 300, run: async () => void (await refreshEstimates(db, models.catalogue)) },
    { name: "uses", everySeconds: 5, run: () => countUses(db, clock) },
    { name: "idempotency", everySeconds: 600, run: () => pruneIdempotencyKeys(db) },
    { name: "credit_expiry", everySeconds: 60, run: () => expireCredits(db) },
    { name: "ledger_audit", everySeconds: 60, run: createAudit(db, options.log) },
  ];
}
