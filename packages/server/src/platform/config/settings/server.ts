import { z } from "zod";
import { LOG_LEVELS } from "../../log.ts";
import { address, integer, origins, range, setting, text, toggle } from "../setting-forms.ts";

export const SERVER = {
  PORT: setting(integer(0, 65_535), {
    default: "8787",
    expected: "a port from 0 to 65535 (0 for any free port)",
    meaning: "Port of the API.",
  }),
  HOST: setting(text, {
    default: "127.0.0.1",
    expected: "an address",
    meaning: "Address the API listens on; 0.0.0.0 or :: for all addresses.",
  }),
  PROMPTD_PUBLIC_URL: address(
    "Base URL that callers use to reach the API. File URLs and Location headers begin with it. Unset: http://HOST:PORT, which works only on this machine if HOST means all addresses. The server prints it at startup, next to the address it listens on.",
  ),
  PROMPTD_PROXIES: range("a number", [0, 10], {
    default: "0",
    meaning:
      "How many proxies are chained in front of the server, each of which appends to X-Forwarded-For. Sign-ins and failed keys are limited per caller address. If this is 0 and there is a proxy, that address is the proxy's, the same for everybody.",
  }),
  PROMPTD_CORS_ORIGINS: setting(origins, {
    default: "*",
    expected: "* or a comma-separated list of origins such as https://example.org",
    meaning:
      "Origins whose web pages may call /v1, read its OpenAPI document, and sign in with OAuth; /mcp is open only to listed origins, not to *. No page of another origin may call /manage.",
  }),
  NODE_ENV: setting(z.enum(["production", "development", "test"]), {
    default: null,
    expected: "production, development, or test",
    meaning:
      "What the installation is for. With production and DATABASE_URL, there is no demo account, and no sandbox unless PROMPTD_SANDBOX is on. Any other value, or unset, is for trying out promptd.",
  }),
  PROMPTD_SECRET: setting(z.string().min(32), {
    default: null,
    expected: "at least 32 characters",
    meaning:
      "Signs file URLs and sessions, and seals the secrets of webhooks and authenticator apps. Use the same value in all processes. Unset: a random secret is created and stored in the data directory.",
    isSecret: true,
  }),
  PROMPTD_SECRET_PREVIOUS: setting(z.string().min(32), {
    default: null,
    expected: "at least 32 characters",
    meaning:
      "The value of PROMPTD_SECRET before a rotation. A server that starts with a new secret needs the previous one, and URLs signed with it stay valid until they expire. Unset: the file secret.previous in the data directory.",
    isSecret: true,
    requires: ["PROMPTD_SECRET"],
  }),
  PROMPTD_SEED: toggle({
    default: "on",
    meaning: "off: an empty database stays empty instead of getting the seed marketplace and a demo account.",
  }),
  PROMPTD_WEBHOOK_PRIVATE_ADDRESSES: toggle({
    default: "off",
    meaning:
      "on: webhooks may use http URLs, any port, and hosts on this machine and in private networks. Use it only if you trust everyone who can create a webhook. Use the same value in all processes.",
  }),
} as const;

export const REQUESTS = {
  PROMPTD_RATE_LIMIT_PER_SECOND: range("a number", [1, 10_000], {
    default: "5",
    meaning: "Requests admitted in any one second.",
  }),
  PROMPTD_RATE_LIMIT_SCOPE: setting(z.enum(["account", "key"]), {
    default: "account",
    expected: "account or key",
    meaning: "Whether the limit counts all keys of an account together or each key separately.",
  }),
  PROMPTD_MANAGE_RATE_LIMIT_PER_SECOND: range("a number", [1, 10_000], {
    default: "50",
    meaning: "Requests to /manage/v1 admitted in any one second, per person and per management token.",
  }),
  PROMPTD_OPEN_REQUESTS_MAX: range("a number", [10, 1_000_000], {
    default: "20000",
    meaning: "Requests that one process keeps open before it responds with 429; half as many for one account.",
  }),
  PROMPTD_REQUEST_SECONDS: range("seconds", [1, 3_600], {
    default: "30",
    meaning:
      "Time allowed for a request to arrive completely. Raise it if callers upload images over slow connections.",
  }),
  PROMPTD_SYNC_WAIT_MS: range("milliseconds", [0, 600_000], {
    default: "120000",
    meaning: "How long POST /v1/runs waits before it responds with 504 and the runId.",
  }),
} as const;

export const OPERATION = {
  PROMPTD_STOP_NOTICE_SECONDS: range("seconds", [0, 300], {
    default: "1",
    meaning:
      "After SIGTERM, an API process keeps serving for this long while /readyz fails, so that a load balancer stops sending requests first. Set it above the load balancer's check interval. Ctrl-C does not wait.",
  }),
  PROMPTD_DRAIN_SECONDS: range("seconds", [0, 3_600], {
    default: "30",
    meaning:
      "How long a stopping worker lets its runs finish before it releases them. A stopping API process gives downloads the same time (at least 15 seconds) before it closes them.",
  }),
  PROMPTD_LOG_LEVEL: setting(z.enum(LOG_LEVELS), {
    default: "info",
    expected: LOG_LEVELS.join(", "),
    meaning: "How much is logged.",
  }),
  PROMPTD_METRICS_TOKEN: setting(z.string().regex(/^\S{16,}$/), {
    default: null,
    expected: "at least 16 characters without spaces",
    meaning:
      "Bearer token that may read /metrics. If set, every request for metrics needs it. Unset: only requests from the server's own machine that do not come through a proxy may read them, and none if PROMPTD_PUBLIC_URL is a public address.",
    isSecret: true,
  }),
  PROMPTD_WORKER_METRICS_PORT: setting(integer(0, 65_535), {
    default: null,
    expected: "a port from 0 to 65535 (0 for any free port)",
    meaning:
      "Port on which a process with the role worker serves /metrics, at the address HOST. Unset: such a process has no port. Processes with an API serve /metrics on PORT.",
  }),
  PROMPTD_FAULT: setting(text, {
    default: null,
    expected: "name:action[@n], comma-separated",
    meaning: "Makes named points in the code fail, for tests. Not allowed when NODE_ENV is production.",
  }),
} as const;
