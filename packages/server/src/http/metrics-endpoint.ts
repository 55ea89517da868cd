import type { IncomingMessage } from "node:http";
import { isLoopback } from "../platform/config/config.ts";
import { METRICS_TYPE, renderMetrics, type Family } from "../platform/metrics/metrics.ts";
import { readProcessMetrics } from "../platform/metrics/process-metrics.ts";
import { Problem } from "../platform/problem.ts";
import { isSameSecret } from "../platform/secrets.ts";
import { ownEndpoint, type Endpoint } from "./endpoint.ts";
import { headerValues } from "./request/parse-head.ts";

export interface MetricsOptions {
  readonly role: string;
  /** PROMPTD_METRICS_TOKEN. Null: only requests from this machine may read the metrics, and none of a public server. */
  readonly token: string | null;
  /** True: the server has a public address, so a proxy on this machine may forward requests of strangers. */
  readonly isPublic: boolean;
  /** Reads what concerns the whole installation. Never rejects. */
  readonly readInstallation: () => Promise<readonly Family[]>;
}

/** Returns GET /metrics. Its readers need no database, so that it answers during an outage. */
export function metricsEndpoint({ role, token, isPublic, readInstallation }: MetricsOptions): Endpoint {
  return ownEndpoint({
    method: "GET",
    path: "/metrics",
    isPolled: true,
    handle: async (_input, { request }) => {
      requireReader(request, { token, isPublic });
      const installation = await readInstallation();
      const text = renderMetrics([...readProcessMetrics(role), ...installation]);
      return { status: 200, text, headers: { "content-type": METRICS_TYPE } };
    },
  });
}

/** Headers of proxies, and of pages in a browser: their requests also come from this machine, for somebody else. */
const ON_BEHALF = [
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "via",
  "origin",
];

/** @throws Problem 401. With a token set, every reader needs it: a proxy may add none of the headers. */
function requireReader(
  request: IncomingMessage,
  { token, isPublic }: Pick<MetricsOptions, "token" | "isPublic">,
): void {
  if (token === null) {
    if (!isPublic && isFromThisMachine(request)) return;
    throw new Problem(
      "UNAUTHORIZED_ERROR",
      isPublic
        ? "The metrics of a server with a public address need a token. Set PROMPTD_METRICS_TOKEN."
        : "Without a token, only requests from the server's own machine may read its metrics. Set PROMPTD_METRICS_TOKEN.",
    );
  }
  const [given = "", ...more] = headerValues(request.rawHeaders, "authorization");
  const shown = /^bearer +(\S+)$/i.exec(given)?.[1] ?? "";
  if (more.length === 0 && isSameSecret(Buffer.from(shown), Buffer.from(token))) return;
  throw new Problem(
    "UNAUTHORIZED_ERROR",
    'The metrics need the token of PROMPTD_METRICS_TOKEN, in the header "Authorization: Bearer <token>".',
  );
}

function isFromThisMachine({ socket, headers }: IncomingMessage): boolean {
  const peer = (socket.remoteAddress ?? "").replace(/^::ffff:/, "");
  if (!isLoopback(peer) || ON_BEHALF.some((name) => headers[name] !== undefined)) return false;
  // A page can give its own host name the address 127.0.0.1; then it needs no Origin.
  const host = URL.parse(`http://${headers.host ?? "localhost"}`)?.hostname ?? "";
  return isLoopback(host);
}
