/**
 * The composition root. A process opens what its role needs, passes each slice its neighbors as functions
 * (app-services.ts, open-worker.ts, open-server.ts), and closes everything in an order in which every waiting caller
 * still gets a response.
 */
import { setTimeout as wait } from "node:timers/promises";
import { openServices, type AppOptions, type AppServices, type Role } from "./app-services.ts";
import { createClosers, type Closers } from "./platform/resilience/closers.ts";
import { creditsTicks } from "./credits/index.ts";
import type { HttpServer } from "./http/server.ts";
import { openInstallation } from "./installation.ts";
import type { Catalogue } from "./models/index.ts";
import { SEED_AUTHOR } from "./marketplace-seed-store.ts";
import { openMetricsServer, openServer } from "./open-server.ts";
import { openBatchStarter, openDeliverer, openWorker } from "./open-worker.ts";
import type { Database } from "./platform/database/database.ts";
import { enableFaults } from "./platform/fault-injection.ts";
import { startTicks, type Tick } from "./platform/periodic-work.ts";
import { peopleTicks } from "./people/index.ts";
import { announceRoles, promptsTicks } from "./prompts/index.ts";
import { createReadiness, watchReadiness } from "./readiness.ts";
import { runsTicks, type Worker } from "./runs/index.ts";
import { webhooksTicks } from "./webhooks/index.ts";
import { checkPort, orListenFailure, throughOutage } from "./start-failure.ts";

export type { AppOptions, Role };

export interface App {
  /** The API's URL on this machine. Null for a worker. */
  readonly listenUrl: string | null;
  /** PROMPTD_PUBLIC_URL, the URL that callers use; null when not set. */
  readonly publicUrl: string | null;
  readonly db: Database;
  readonly catalogue: Catalogue;
  /**
   * Answers every waiting request, lets runs finish or releases them, and closes everything. Before that, the API keeps
   * serving for `noticeMs` (default: 0) while /readyz fails.
   */
  close(options?: { readonly noticeMs: number }): Promise<void>;
}

export async function startApp(options: AppOptions): Promise<App> {
  const { config, role, log } = options;
  if (config.PROMPTD_FAULT !== null) enableFaults(config.PROMPTD_FAULT);
  const closers = createClosers();
  try {
    if (role !== "worker") await checkPort({ host: config.HOST, port: config.PORT });
    const installation = await openInstallation({ config, role, log, signal: options.signal, opensAhead: true });
    closers.add(() => installation.close());
    return await openApp(await openServices(options, installation, closers), closers);
  } catch (error) {
    // A failed startup must leave nothing running, above all no database server.
    await closers
      .run()
      .catch((cause: unknown) => log.warn({ err: cause }, "the cleanup after a failed startup was not complete"));
    throw error;
  }
}

async function openApp(services: AppServices, closers: Closers): Promise<App> {
  const { config, role, log, db, models, catalogue } = services;
  const readiness = createReadiness(services);
  closers.add(watchReadiness(readiness));
  // In parallel: the worker waits for its connections.
  const [worker, server] = await Promise.all([
    role === "api" ? null : openWorker(services, closers),
    role === "worker"
      ? openMetricsServer(services)
      : openServer(services, { readiness, wakeWorker: () => worker?.wake() }, closers),
  ]);
  if (worker !== null) services.creates.claimWith((runs) => worker.reserve(runs));
  const stop = createStop(services, server, worker);
  closers.add(() => stop({ noticeMs: 0, graceMs: 0 }));
  const listenUrl = server === null ? null : await listen(services, server);
  await Promise.all([
    throughOutage(() => models.announce(), services),
    role === "api" ? null : throughOutage(() => announceRoles(db, catalogue), services),
  ]);
  await throughOutage(async () => worker?.start(), services);
  if (role !== "api") openDeliverer(services, closers).start();
  const ticks = await throughOutage(() => startTicks(db, periodicWork(services), log), services);
  closers.add(() => ticks.stop());
  closers.add(() => services.search.close()); // before everything else: a tick may be waiting for the embeddings model
  if (server !== null) warmSearchSoon(services, closers);
  const graceMs = config.PROMPTD_DRAIN_SECONDS * 1_000;
  const close = async (noticeMs: number): Promise<void> => {
    await stop({ noticeMs, graceMs });
    await closers.run();
  };
  let closing: Promise<void> | null = null;
  return {
    listenUrl,
    publicUrl: config.PROMPTD_PUBLIC_URL,
    db,
    catalogue,
    close: ({ noticeMs } = { noticeMs: 0 }) => (closing ??= close(noticeMs)), // a second call waits for the first
  };
}

/** Long enough for the first requests after startup, and short compared to a load balancer's timeout. */
const SEARCH_WAIT_MS = 100;

/** Delayed, because warming up occupies a core for a moment and blocks responses. A request to /readyz starts it sooner. */
function warmSearchSoon({ search }: AppServices, closers: Closers): void {
  const timer = setTimeout(() => void search.warm(), SEARCH_WAIT_MS);
  closers.add(async () => clearTimeout(timer));
}

interface StopTimes {
  /** How long the API keeps serving while /readyz fails. */
  readonly noticeMs: number;
  /** How long runs may continue before they are released. */
  readonly graceMs: number;
}

/** Ends the work of a process, API and worker in parallel, each with a time limit. Only the first call has an effect. */
function createStop(
  { hub, accountLocks, stopping: waits }: AppServices,
  server: HttpServer | null,
  worker: Worker | null,
) {
  const endWaits = () => {
    hub.drain();
    accountLocks.drain();
    waits.abort(new Error("The server is stopping."));
  };
  const noticeOf = (ms: number) => (ms > 0 ? wait(ms) : Promise.resolve());
  let stopping: Promise<unknown> | null = null;
  return ({ noticeMs, graceMs }: StopTimes) =>
    (stopping ??= Promise.all([
      server?.close({ notice: noticeOf(noticeMs), graceMs, endWaits }),
      worker?.drain(graceMs),
    ]));
}

/** @returns the URL that reaches the API from this machine; null for a worker, which serves only its metrics. */
async function listen(
  { config, role, log, onListening, localUrl }: AppServices,
  server: HttpServer,
): Promise<string | null> {
  const metricsPort = role === "worker" ? config.PROMPTD_WORKER_METRICS_PORT : null;
  if (metricsPort !== null) {
    const address = { host: config.HOST, port: metricsPort };
    const { url } = await orListenFailure(address, () => server.listen(address), "PROMPTD_WORKER_METRICS_PORT");
    log.info({ url: `${url}/metrics` }, "serving the metrics of this worker");
    return null;
  }
  const address = { host: config.HOST, port: config.PORT };
  const { port } = await orListenFailure(address, () => server.listen(address));
  onListening(port);
  return localUrl();
}

/** The periodic work of every slice, each as rare as its guarantee permits. */
function periodicWork(services: AppServices): Tick[] {
  const { role, files, models, search } = services;
  return [
    ...creditsTicks(services),
    ...peopleTicks(services),
    ...files.ticks,
    ...models.ticks,
    ...search.ticks,
    ...promptsTicks({ ...services, publicAuthor: SEED_AUTHOR }),
    ...webhooksTicks(services),
    ...runsTicks(services),
    ...(role === "api" ? [] : [openBatchStarter(services)]),
    { name: "account-deletions", everySeconds: 15, run: services.finishDeletions },
  ];
}
