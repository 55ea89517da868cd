/**
 * The HTTP server, on top of Node's own. This slice decides everything that a caller can observe.
 *
 *   sockets/raw-refusals.ts   what never becomes a request
 *   request/request-path.ts   the path of a request, step by step
 *   request/exchange.ts       what is known about one request, and its answer
 *   sockets/stopping.ts       how the server stops
 */
import { API_PREFIXES, type Auth } from "@promptd/contract";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createGauge } from "../platform/metrics/metrics.ts";
import { createBodyBudget } from "./body/body-budget.ts";
import type { Endpoint, WriteAudit } from "./endpoint.ts";
import { unauthenticatedEndpoints, type UnauthenticatedEndpointsOptions } from "./unauthenticated-endpoints.ts";
import { Exchange } from "./request/exchange.ts";
import { createFailedAdmissions } from "./request/failed-admissions.ts";
import { HEADER_BYTES_MAX } from "./request/parse-head.ts";
import { createRateWait } from "./request/rate-wait.ts";
import { serveRequest, type PathSetup } from "./request/request-path.ts";
import { createRouter } from "./request/router.ts";
import { createOwnerCounts } from "./owner-counts.ts";
import { createUnreadAnswers } from "./response/unread-answers.ts";
import { trackConnections, type Connections } from "./sockets/connections.ts";
import { limitConnections } from "./sockets/limit-connections.ts";
import { installRawRefusals } from "./sockets/raw-refusals.ts";
import { createStopping, type StopOrder } from "./sockets/stopping.ts";

/** Milliseconds, bytes and counts. A 32 MiB body in 30 s needs 9 Mbit/s: raise `requestMs` for slow networks. */
const HTTP_LIMITS = {
  smallBodyBytesMax: 64 * 1024,
  totalBodyBytesMax: 96 * 1024 * 1024,
  accountBodyBytesMax: 40 * 1024 * 1024,
  bodyWaitMs: 10_000,
  bodyPassMs: 2_000,
  headersMs: 10_000,
  requestMs: 30_000,
  checkEveryMs: 1_000,
  slowReaderMs: 60_000,
  smallAnswerBytesMax: 64 * 1024,
  /** Six of the largest pages of runs. */
  accountUnreadBytesMax: 96 * 1024 * 1024,
  totalUnreadBytesMax: 384 * 1024 * 1024,
  /** How long data from a refused caller is discarded before the connection is closed. */
  lingerMs: 2_000,
  /** How long a caller who has closed its side may wait for an answer: most have gone, which only an answer reveals. */
  halfClosedMs: 2_000,
  /** How long a stopping server waits for the request of a connection that has sent nothing yet. */
  silentMs: 2_000,
  /** The minimum time that a stopping server gives its last answers: without the database an answer takes 12 s. */
  stopMsMin: 15_000,
  keepAliveMs: 72_000,
  openRequestsMax: 20_000,
  connectionsMax: Infinity,
  /** The most requests waiting on one connection: without a limit, one packet could contain thousands. */
  connectionRequestsMax: 32,
  failedAdmissionsPerSecond: 20,
  /** With Node's default of 511, bursts of thousands fail; the kernel applies its own limit too. */
  backlog: 4_096,
} as const;
const openRequests = createGauge(
  { name: "promptd_http_requests_open", help: "Requests to this process without a complete response." },
  [],
);
type HttpLimits = { readonly [Name in keyof typeof HTTP_LIMITS]: number };

export interface HttpServerOptions
  extends
    Pick<PathSetup, "log" | "newId" | "resourcesHash" | "authenticators">,
    Partial<Pick<PathSetup, "rate" | "corsOrigins" | "proxies" | "checkResponses">> {
  /** What the endpoints that need no credential answer; null: there are none. */
  readonly open: Pick<UnauthenticatedEndpointsOptions, "openFile" | "publicUrl" | "readiness"> | null;
  readonly endpoints: readonly Endpoint[];
  /** The contract's prefixes when absent. */
  readonly prefixes?: Readonly<Record<string, Auth>>;
  /** Writes the rows of audited endpoints; absent: no endpoint is audited. */
  readonly writeAudit?: WriteAudit;
  readonly limits?: Partial<HttpLimits>;
}

export interface HttpServer {
  listen(address: { readonly host: string; readonly port: number }): Promise<{ url: string; port: number }>;
  /** Stops as described in stopping.ts. Resolves when no connection is left. */
  close(order?: StopOrder): Promise<void>;
  readonly openRequests: number;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const limits: HttpLimits = { ...HTTP_LIMITS, ...options.limits };
  const server = createNodeServer(limits);
  const connections = trackConnections(server, limits.connectionRequestsMax);
  limitConnections(server, limits.connectionsMax, options.log);
  const stopListening = () => new Promise<void>((resolve) => void server.close(() => resolve()));
  const stopping = createStopping({ ...limits, connections, stopListening });
  const refuseMore = installRawRefusals(server, { ...options, ...limits, connections });
  const isBusy = () => connections.openRequests > limits.openRequestsMax;
  const state = { isBusy, isStopping: () => stopping.hasBegun };
  const open = options.open === null ? [] : unauthenticatedEndpoints({ ...options.open, ...state });
  const setup: PathSetup = {
    ...options,
    ...limits,
    isBusy,
    router: createRouter([...options.endpoints, ...open], options.prefixes ?? API_PREFIXES),
    corsOrigins: options.corsOrigins ?? ["*"],
    proxies: options.proxies ?? 0,
    rate: options.rate ?? { perSecond: 5, scope: "account" },
    checkResponses: options.checkResponses ?? false,
    writeAudit: options.writeAudit ?? null,
    failedAdmissions: createFailedAdmissions(limits.failedAdmissionsPerSecond, () => performance.now()),
    rateWait: createRateWait(),
    isLastAnswer: (exchange) => stopping.hasBegun && connections.isLast(exchange),
    bodyBudget: createBodyBudget(limits),
    unreadAnswers: createUnreadAnswers(limits),
    openOfAccounts: createOwnerCounts(),
    accountOpenMax: Math.ceil(limits.openRequestsMax / 2),
  };
  const serve = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean) => {
    if (!connections.takesMore(request.socket)) {
      refuseMore(request.socket);
      return;
    }
    const exchange = new Exchange(setup, request, response, awaitsContinue);
    connections.add(exchange);
    void serveRequest(exchange, setup);
  };
  server.on("request", (request, response) => serve(request, response, false));
  server.on("checkContinue", (request, response) => serve(request, response, true));
  server.on("checkExpectation", (request, response) => serve(request, response, false));
  closeIdleConnections(server, connections, limits);
  server.once(
    "close",
    openRequests.from(() => [[[], connections.openRequests]]),
  );
  return {
    get openRequests() {
      return connections.openRequests;
    },
    listen: ({ host, port }) => listen(server, { host, port, backlog: limits.backlog }),
    close: (order = {}) => stopping.stop(order),
  };
}

function createNodeServer(limits: HttpLimits): Server {
  const server = createServer({
    keepAliveTimeout: limits.keepAliveMs,
    headersTimeout: Math.min(limits.headersMs, limits.requestMs),
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    maxHeaderSize: HEADER_BYTES_MAX,
    // Checked in parse-head.ts: Node would answer a 400 without an envelope.
    requireHostHeader: false,
  });
  // By default Node silently drops headers beyond 2,000; parse-head.ts refuses the request.
  server.maxHeadersCount = 0;
  return server;
}

/**
 * Closes idle connections that Node keeps open: for Node, an occasional empty line shows a live connection, though it
 * is not a request. A caller who has sent nothing else for the keep-alive and header timeouts together has gone.
 */
function closeIdleConnections(server: Server, connections: Connections, limits: HttpLimits): void {
  const { keepAliveMs, headersMs, checkEveryMs } = limits;
  const closeIdle = () => {
    const sinceMs = performance.now() - keepAliveMs - headersMs;
    connections.closeWhere(
      (_socket, { open, answeredAtMs }) => open.length === 0 && (answeredAtMs ?? sinceMs) < sinceMs,
    );
  };
  const timer = setInterval(closeIdle, checkEveryMs).unref();
  server.once("close", () => clearInterval(timer));
}

async function listen(
  server: Server,
  address: { readonly host: string; readonly port: number; readonly backlog: number },
): Promise<{ url: string; port: number }> {
  server.listen({ ...address });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return { url: `http://${host}:${port}`, port };
}
