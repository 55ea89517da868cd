/**
 * The HTTP server: Fastify routes, and everything a caller can observe is decided here. Fastify reads no bodies, since
 * its parsers answer with statuses and leniences the interface does not have; handlers get the raw request.
 *
 *   edge.ts            what never becomes a request
 *   exchange.ts        one request and its answer
 *   admit.ts           401, 429, 402 from the headers
 *   serve-endpoint.ts  body, shape, slice, answer
 *   stopping.ts        the end of all of it
 */
import { ENDPOINTS, type EndpointName } from "@promptd/contract";
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Log } from "../platform/log.ts";
import { admit } from "./request/admit.ts";
import { createBodyBudget, serverBusy } from "./body/body-budget.ts";
import { trackConnections, type Connections } from "./sockets/connections.ts";
import { asksToUpgrade, guardEdge, headFault, HEADER_BYTES_MAX } from "./sockets/edge.ts";
import type { Endpoint, Endpoints, Admit, OpenFile, Readiness } from "./endpoint.ts";
import { Exchange, type ExchangeSetup } from "./request/exchange.ts";
import { createFailedEntries } from "./request/failed-admissions.ts";
import { joinLooks, sendHealth, sendReadiness, type HealthSetup } from "./health.ts";
import { openApiText } from "./openapi.ts";
import { rawQuery } from "./request/query.ts";
import { preflightHeaders } from "./answer/response-headers.ts";
import { serveEndpoint, type EndpointSetup, type Match } from "./request/serve-endpoint.ts";
import { createStopping, type StopOrder } from "./sockets/stopping.ts";
import { badPath, isUnderV1, OPEN_PATHS, unrecognized } from "./request/unknown-route.ts";
import type { CheckImages } from "./request/validate.ts";

/** Milliseconds, bytes and counts. A 32 MiB body in 30 s needs 9 Mbit/s: raise `requestMs` for slow lines. */
const HTTP_LIMITS = {
  runBodyBytesMax: 32 * 1024 * 1024,
  bodyBytesMax: 64 * 1024,
  smallBodyBytesMax: 64 * 1024,
  heldBodyBytesMax: 96 * 1024 * 1024,
  accountBodyBytesMax: 40 * 1024 * 1024,
  bodyWaitMs: 10_000,
  headersMs: 10_000,
  requestMs: 30_000,
  checkEveryMs: 1_000,
  slowReaderMs: 60_000,
  /** How long what a refused caller still sends is thrown away before the connection is closed. */
  lingerMs: 2_000,
  /** How long a caller who has closed its side may wait for an answer: most have gone, and only the answer tells. */
  halfClosedMs: 2_000,
  /** How long a stopping server waits for the request of a connection that has sent nothing yet. */
  silentMs: 2_000,
  /** What a stopping server gives its last answers at least: a database that is away makes one take 12 s. */
  stopMsMin: 15_000,
  keepAliveMs: 72_000,
  openRequestsMax: 20_000,
  /** Requests on one connection that wait for their answers: without a bound one packet could bring thousands. */
  connectionRequestsMax: 32,
  failedEntriesPerSecond: 20,
  /** Node's 511 makes bursts of thousands fail; the kernel caps it by its own setting. */
  backlog: 4_096,
} as const;
type HttpLimits = { readonly [Name in keyof typeof HTTP_LIMITS]: number };

export interface HttpServerOptions {
  readonly log: Log;
  readonly newId: () => string;
  readonly admit: Admit;
  readonly resourcesHash: () => string;
  readonly endpoints: Endpoints;
  readonly openFile: OpenFile;
  readonly readiness: () => Promise<Readiness>;
  /** Part of the shape stage that knows pictures; its issues are reported together with the others. */
  readonly checkImages?: CheckImages;
  readonly rate?: { readonly perSecond: number; readonly scope: "account" | "key" };
  /** `["*"]` or the origins whose pages may call. */
  readonly corsOrigins?: readonly string[];
  /** For tests: every answer is parsed by the contract's schemas, and a breach is a 500. */
  readonly checkResponses?: boolean;
  readonly limits?: Partial<HttpLimits>;
}

export interface HttpServer {
  listen(address: { readonly host: string; readonly port: number }): Promise<{ url: string; port: number }>;
  /** Stops as stopping.ts says. Resolves when no connection is left. */
  close(order?: StopOrder): Promise<void>;
  readonly openRequests: number;
}

type Setup = ExchangeSetup & EndpointSetup & HealthSetup;

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const limits: HttpLimits = { ...HTTP_LIMITS, ...options.limits };
  const app = createApp(limits, (request, reply) => begin(request.raw, reply.raw, "-")?.serveUnknown());
  const { server } = app;
  const connections = trackConnections(server, limits.connectionRequestsMax);
  const stopping = createStopping({ ...limits, connections, stopListening: () => stopApp(app) });
  const edge = guardEdge(server, { ...options, ...limits, connections });
  const setup: Setup = {
    ...options,
    ...limits,
    readiness: joinLooks(options.readiness),
    corsOrigins: options.corsOrigins ?? ["*"],
    rate: options.rate ?? { perSecond: 5, scope: "account" },
    checkImages: options.checkImages ?? null,
    checkResponses: options.checkResponses ?? false,
    failedEntries: createFailedEntries(limits.failedEntriesPerSecond, () => performance.now()),
    isBusy: () => connections.openRequests > limits.openRequestsMax,
    isStopping: () => stopping.hasBegun,
    isLastOfAll: (exchange) => stopping.hasBegun && connections.isLast(exchange),
    bodyBudget: createBodyBudget(limits),
  };
  const awaitsContinue = new WeakSet<IncomingMessage>();

  function begin(request: IncomingMessage, response: ServerResponse, route: string): Visit | null {
    if (!connections.takesMore(request.socket)) {
      edge.refuseMore(request.socket);
      return null;
    }
    const exchange = new Exchange(setup, request, response);
    exchange.route = route;
    exchange.awaitsContinue = awaitsContinue.has(request);
    connections.add(exchange);
    const fault = headFault(request);
    exchange.closesConnection = fault !== null || asksToUpgrade(request);
    if (fault === null && request.method !== "OPTIONS") return createVisit(exchange, setup);
    if (fault === null) exchange.sendJson(204, "", preflightHeaders());
    else exchange.sendError(fault);
    return null;
  }

  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    awaitsContinue.add(request);
    server.emit("request", request, response);
  });
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    server.emit("request", request, response);
  });
  closeIdleConnections(server, connections, limits);
  mount(app, options.endpoints, begin);
  mountOpenPaths(app, options, begin);

  return {
    get openRequests() {
      return connections.openRequests;
    },
    listen: ({ host, port }) => listen(app, { host, port, backlog: limits.backlog }),
    close: (order = {}) => stopping.stop(order),
  };
}

/**
 * An empty line now and then counts for Node as a sign of life and is no request. Who has sent nothing else for as long
 * as a connection is kept, and as headers may take, is gone.
 */
function closeIdleConnections(server: Server, connections: Connections, limits: HttpLimits): void {
  const { keepAliveMs, headersMs, checkEveryMs } = limits;
  const look = () => {
    const sinceMs = performance.now() - keepAliveMs - headersMs;
    connections.closeWhere(
      (_socket, { open, answeredAtMs }) => open.length === 0 && (answeredAtMs ?? sinceMs) < sinceMs,
    );
  };
  const timer = setInterval(look, checkEveryMs).unref();
  server.once("close", () => clearInterval(timer));
}

type Begin = (request: IncomingMessage, response: ServerResponse, route: string) => Visit | null;

function createApp(limits: HttpLimits, onUnknown: (request: FastifyRequest, reply: FastifyReply) => void) {
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    // Its 503 is not among the specified statuses: requests that still arrive while stopping are served.
    return503OnClosing: false,
    keepAliveTimeout: limits.keepAliveMs,
    requestTimeout: limits.requestMs,
    http: {
      headersTimeout: Math.min(limits.headersMs, limits.requestMs),
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      maxHeaderSize: HEADER_BYTES_MAX,
      // Checked by ourselves: Node answers 400 without an envelope.
      requireHostHeader: false,
    },
    routerOptions: {
      caseSensitive: true,
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      // Longer than any request line: a long parameter is the endpoint's 422, not the router's 414.
      maxParamLength: 2 * HEADER_BYTES_MAX,
      querystringParser: () => ({}),
    },
    // Installed by guardEdge; Fastify's own answers 408 and 431.
    clientErrorHandler: () => {},
    frameworkErrors: (_error, request, reply) => {
      reply.hijack();
      onUnknown(request, reply);
    },
  });
  // Node drops headers beyond 2,000 silently; we refuse them.
  app.server.maxHeadersCount = 0;
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.setNotFoundHandler((request, reply) => {
    reply.hijack();
    onUnknown(request, reply);
  });
  return app;
}

/** What may be done with a request that has passed the edge; each way ends in exactly one answer. */
interface Visit {
  serve(match: Match<EndpointName>): void;
  serveUnknown(): void;
  serveOpen(work: (exchange: Exchange, setup: Setup) => Promise<void> | void): void;
}

function createVisit(exchange: Exchange, setup: Setup): Visit {
  const { method = "", url = "" } = exchange.request;
  const run = (work: () => Promise<void>) => {
    work().catch((error: unknown) => exchange.sendError(error));
  };
  return {
    serve: (match) => run(() => serveEndpoint(exchange, match, setup)),
    serveUnknown: () =>
      run(async () => {
        if (isUnderV1(url)) await admit(exchange, setup);
        throw isDecodable(url) ? unrecognized(method, url) : badPath();
      }),
    serveOpen: (work) => run(async () => work(exchange, setup)),
  };
}

function isDecodable(target: string): boolean {
  try {
    decodeURIComponent(target.split("?")[0] ?? "");
    return true;
  } catch {
    return false; // which is the answer
  }
}

function mount(app: FastifyInstance, endpoints: Endpoints, begin: Begin): void {
  for (const name of Object.keys(ENDPOINTS) as EndpointName[]) {
    const { method, path } = ENDPOINTS[name];
    // Each endpoint is only ever called with its own input, which serveEndpoint validates by the same name.
    const handle = endpoints[name] as Endpoint<EndpointName>;
    app.route({
      method: method === "GET" ? ["GET", "HEAD"] : method,
      url: path,
      handler: (request, reply) => {
        reply.hijack();
        const params = request.params as Readonly<Record<string, string>>;
        begin(request.raw, reply.raw, path)?.serve({ name, handle, params });
      },
    });
  }
}

function mountOpenPaths(app: FastifyInstance, options: HttpServerOptions, begin: Begin): void {
  const openApi = openApiText();
  const routes: Record<string, (exchange: Exchange, setup: Setup, name: string) => Promise<void> | void> = {
    [OPEN_PATHS.health]: (exchange) => sendHealth(exchange),
    [OPEN_PATHS.readiness]: (exchange, setup) => sendReadiness(exchange, setup),
    [OPEN_PATHS.openapi]: (exchange) => exchange.sendJson(200, openApi),
    [OPEN_PATHS.file]: async (exchange, setup, name) => {
      if (setup.isBusy()) throw serverBusy();
      await exchange.turn(); // an open file is held only for who is answered next
      const { method, url = "" } = exchange.request;
      const answer = await options.openFile({
        method: method === "HEAD" ? "HEAD" : "GET",
        name: name.slice(0, 255),
        query: new URLSearchParams(rawQuery(url)),
        range: exchange.header("range"),
        ifRange: exchange.header("if-range"),
        ifNoneMatch: exchange.header("if-none-match"),
      });
      exchange.sendFile(answer);
    },
  };
  for (const [path, work] of Object.entries(routes)) {
    app.route({
      method: ["GET", "HEAD"],
      url: path,
      handler: (request, reply) => {
        reply.hijack();
        const { name = "" } = request.params as Readonly<Record<string, string>>;
        begin(request.raw, reply.raw, path)?.serveOpen((exchange, setup) => work(exchange, setup, name));
      },
    });
  }
}

/** Closes the port at once, and Fastify after it: that alone would take some turns of the event loop first. */
async function stopApp(app: FastifyInstance): Promise<void> {
  app.server.close();
  await app.close();
}

async function listen(
  app: FastifyInstance,
  address: { readonly host: string; readonly port: number; readonly backlog: number },
): Promise<{ url: string; port: number }> {
  const { server } = app;
  await app.ready();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...address }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return { url: `http://${host}:${port}`, port };
}
