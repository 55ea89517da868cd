import { ENDPOINTS } from "@promptd/contract";
import { MANAGE_ENDPOINTS } from "@promptd/contract/manage";
import { endpointSchemas } from "@promptd/contract/schemas";
import {
  accountsManageRoutes,
  meRoutes,
  createAdmissionControl,
  keysManageRoutes,
  type AdmissionControl,
} from "./accounts/index.ts";
import { createRunOptions, type AppServices } from "./app-services.ts";
import type { Closers } from "./platform/resilience/closers.ts";
import { consoleEndpoint } from "./console/index.ts";
import { creditsManageRoutes, creditsRoutes } from "./credits/index.ts";
import { toEndpoints, type Endpoint, type Handlers } from "./http/endpoint.ts";
import { metricsEndpoint } from "./http/metrics-endpoint.ts";
import { connectionsWithin } from "./http/sockets/limit-connections.ts";
import { createHttpServer, type HttpServer } from "./http/server.ts";
import { readInstallationMetrics } from "./installation-metrics.ts";
import { mcpEndpoints } from "./mcp/index.ts";
import { modelsManageRoutes, modelsRoutes } from "./models/index.ts";
import { offboardingManageRoutes } from "./offboarding/index.ts";
import { authEndpoint, createPeople, type People } from "./people/index.ts";
import { isLoopback } from "./platform/config/config.ts";
import type { Readiness } from "./readiness.ts";
import { marketplaceManageRoutes, promptsManageRoutes, promptsRoutes } from "./prompts/index.ts";
import {
  batchesRoutes,
  checkImages,
  openUsage,
  runsManageRoutes,
  runsRoutes,
  usageManageRoutes,
  type RunsRoutesOptions,
} from "./runs/index.ts";
import { webhooksManageRoutes } from "./webhooks/index.ts";

/** What the server needs from the rest of its process. */
interface ServerNeighbors {
  readonly readiness: Readiness;
  /** Wakes this process's worker. */
  readonly wakeWorker: () => void;
}

/** Creates the HTTP server with every slice's endpoints. It does not listen yet. */
export async function openServer(
  services: AppServices,
  { readiness, wakeWorker }: ServerNeighbors,
  closers: Closers,
): Promise<HttpServer> {
  const { config, log, newId, models, files, publicUrl } = services;
  const admission = openAdmission(services);
  closers.add(() => admission.close());
  const people = createPeople(services);
  return createHttpServer({
    log,
    newId,
    authenticators: { apiKey: admission.admit, ...people.authenticators },
    writeAudit: people.writeAudit,
    resourcesHash: () => models.catalogue.resources().hash,
    open: { openFile: files.openFile, publicUrl, readiness },
    endpoints: [
      ...toEndpoints({
        entries: ENDPOINTS,
        schemas: async () => endpointSchemas,
        checks: { createRun: checkImages },
        handlers: callersHandlers(services, wakeWorker),
      }),
      ...manageEndpoints(services, people, wakeWorker),
      authEndpoint(people, publicUrl),
      ...people.oauthEndpoints,
      ...openMcp(services),
      metricsOf(services),
      ...(await openConsole(services)),
    ],
    rate: { perSecond: config.PROMPTD_RATE_LIMIT_PER_SECOND, scope: config.PROMPTD_RATE_LIMIT_SCOPE },
    corsOrigins: config.PROMPTD_CORS_ORIGINS,
    proxies: config.PROMPTD_PROXIES,
    checkResponses: services.checkResponses ?? false,
    limits: {
      requestMs: config.PROMPTD_REQUEST_SECONDS * 1_000,
      openRequestsMax: config.PROMPTD_OPEN_REQUESTS_MAX,
      connectionsMax: connectionsWithin(),
      ...services.httpLimits,
    },
  });
}

/** Creates the HTTP server of a process that is only a worker, for its metrics; null: no port is set for them. */
export function openMetricsServer(services: AppServices): HttpServer | null {
  const { config, log, newId, models } = services;
  if (config.PROMPTD_WORKER_METRICS_PORT === null) return null;
  return createHttpServer({
    log,
    newId,
    authenticators: {},
    resourcesHash: () => models.catalogue.resources().hash,
    endpoints: [metricsOf(services)],
    prefixes: {},
    open: null,
    limits: services.httpLimits ?? {},
  });
}

/** The metrics of this process and of the installation. */
function metricsOf({ config, role, db }: AppServices): Endpoint {
  return metricsEndpoint({
    role,
    token: config.PROMPTD_METRICS_TOKEN,
    isPublic: config.PROMPTD_PUBLIC_URL !== null && !isLoopback(new URL(config.PROMPTD_PUBLIC_URL).hostname),
    readInstallation: () => readInstallationMetrics(db),
  });
}

/** Tools for agents, which work through this server's own /v1. */
function openMcp(services: AppServices): Endpoint[] {
  return mcpEndpoints({
    ...services,
    origins: services.config.PROMPTD_CORS_ORIGINS,
    stopping: services.stopping.signal,
  });
}

/** The console's pages; null when not requested or not built. */
async function openConsole({ consoleDirectory: directory, publicUrl, log }: AppServices): Promise<Endpoint[]> {
  if (directory === undefined) return [];
  const endpoint = await consoleEndpoint({ directory, publicUrl });
  if (endpoint === null) log.warn("the console is not built; run `npm run build:console` and restart");
  return endpoint === null ? [] : [endpoint];
}

/** The /v1 handlers. */
function callersHandlers(services: AppServices, wakeWorker: () => void): Handlers {
  const { config, db, catalogue, search, files, notifications } = services;
  const { chargesAuthors } = config;
  const runs = runsOptions(services, "/v1", wakeWorker);
  return {
    ...meRoutes(),
    ...creditsRoutes(db),
    ...modelsRoutes(catalogue),
    ...promptsRoutes({ db, search, catalogue, sampleUrl: files.samples.urlOf, chargesAuthors }),
    ...runsRoutes(runs),
    ...batchesRoutes({ ...runs, onReady: () => notifications.notify("batch_ready") }),
  };
}

/** The /manage/v1 handlers: each slice provides handlers for what it owns. */
function manageEndpoints(services: AppServices, people: People, wakeWorker: () => void): Endpoint[] {
  const { config, db, clock, models, catalogue, search, files } = services;
  const { urlOf: sampleUrl, release: releaseSample } = files.samples;
  const usage = openUsage(db);
  const runs = runsOptions(services, "/manage/v1", wakeWorker);
  return toEndpoints({
    entries: MANAGE_ENDPOINTS,
    schemas: async () => (await import("@promptd/contract/manage/schemas")).manageSchemas,
    checks: { createRun: checkImages, createTestRun: checkImages },
    isAudited: true,
    handlers: {
      ...people.handlers,
      ...accountsManageRoutes(db),
      ...keysManageRoutes({ ...services, ...usage }),
      ...creditsManageRoutes(db, clock),
      ...usageManageRoutes(db, clock),
      ...modelsManageRoutes({ ...models, db }),
      ...marketplaceManageRoutes({ db, search, catalogue, sampleUrl }),
      ...promptsManageRoutes({
        ...services,
        ...usage,
        sampleUrl,
        releaseSample,
        holdMaxCredits: config.PROMPTD_HOLD_MAX_CREDITS,
        chargesAuthors: config.chargesAuthors,
      }),
      ...webhooksManageRoutes(services),
      ...offboardingManageRoutes({ ...services, files: files.ofAccount }),
      ...runsManageRoutes({ ...runs, clock }),
    },
  });
}

/** @param prefix the path prefix of the API that the runs belong to. */
function runsOptions(services: AppServices, prefix: string, wakeWorker: () => void): RunsRoutesOptions {
  const { config, newId, hub, followers, notifications, publicUrl, onCanceled } = services;
  return {
    ...createRunOptions(services),
    hub,
    followers,
    newId,
    baseUrl: () => `${publicUrl()}${prefix}`,
    syncWaitMs: config.PROMPTD_SYNC_WAIT_MS,
    onCreated: () => {
      wakeWorker();
      notifications.notifyOthers("run_ready");
    },
    onCanceled,
  };
}

function openAdmission(services: AppServices): AdmissionControl {
  const { config } = services;
  return createAdmissionControl({
    ...services,
    limitPerSecond: config.PROMPTD_RATE_LIMIT_PER_SECOND,
    scope: config.PROMPTD_RATE_LIMIT_SCOPE,
    plans: config.PROMPTD_PLANS,
  });
}
