/**
 * Every setting of promptd: its environment variable, form, default, and meaning. config.ts reads the environment
 * by this table, and a test compares the documentation's settings page with it.
 */
import { z } from "zod";
import { LOG_LEVELS } from "../log.ts";
import { autoOr, baseUrl, integer, onOff, origins, postgresUrl, smtpUrl, text } from "./setting-forms.ts";

export interface Setting<Value, Default extends string | null> {
  readonly form: z.ZodType<Value, string>;
  /** As it would be written in the environment; null: unset. */
  readonly default: Default;
  /** Describes a valid value in error messages. */
  readonly expected: string;
  readonly meaning: string;
  /** The value never appears in a message, and NAME_FILE may name a file that contains it. */
  readonly isSecret?: true;
  /** Other names that must be set if this one is. */
  readonly requires?: readonly string[];
}

function setting<Value, const Default extends string | null>(
  form: z.ZodType<Value, string>,
  rest: Omit<Setting<Value, Default>, "form">,
): Setting<Value, Default> {
  return { form, ...rest };
}

/** A whole number. Its bounds are stated once, for the check and for the message. */
function range<const Default extends string | null>(
  what: string,
  [min, max]: readonly [min: number, max: number],
  rest: Omit<Setting<number, Default>, "form" | "expected">,
): Setting<number, Default> {
  return { form: integer(min, max), expected: `${what} from ${min} to ${max}`, ...rest };
}

const ADDRESS = "an http:// or https:// URL without ? and #";

/** A base URL that paths are appended to. */
function address(meaning: string): Setting<string, null> {
  return setting(baseUrl, { default: null, expected: ADDRESS, meaning });
}

const ON_OFF = "on or off";

export const SETTINGS = {
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
  DATABASE_URL: setting(postgresUrl, {
    default: null,
    expected: "postgresql://user:password@host:5432/database",
    meaning: "Your own PostgreSQL, 15 or newer. Unset: an embedded PostgreSQL 18 in the data directory.",
    isSecret: true,
  }),
  DATABASE_DIRECT_URL: setting(postgresUrl, {
    default: null,
    expected: "postgresql://user:password@host:5432/database",
    meaning:
      "The same database, bypassing the transaction pooler, for notifications and migrations. Unset: DATABASE_URL.",
    isSecret: true,
    requires: ["DATABASE_URL"],
  }),
  PROMPTD_DATA_DIR: setting(text, {
    default: "./.promptd",
    expected: "a directory",
    meaning: "Directory for the embedded database, generated files, and secrets.",
  }),
  PROMPTD_PUBLIC_URL: setting(baseUrl, {
    default: null,
    expected: ADDRESS,
    meaning:
      "Base URL that callers use to reach the API. File URLs and Location headers begin with it. Unset: http://HOST:PORT, which works only on this machine if HOST means all addresses. The server prints it at startup, next to the address it listens on.",
  }),
  PROMPTD_PROXIES: range("a number", [0, 10], {
    default: "0",
    meaning:
      "How many proxies are chained in front of the server, each of which appends to X-Forwarded-For. Sign-ins and failed keys are limited per caller address. If this is 0 and there is a proxy, that address is the proxy's, the same for everybody.",
  }),
  PROMPTD_SYNC_WAIT_MS: range("milliseconds", [0, 600_000], {
    default: "120000",
    meaning: "How long POST /v1/runs waits before it responds with 504 and the runId.",
  }),
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
  PROMPTD_SIGN_UP: setting(z.enum(["off", "invite", "open"]), {
    default: "invite",
    expected: "off, invite, or open",
    meaning:
      "Who can sign up: nobody, people with an invitation, or everyone who can reach the server. Operators can always create accounts.",
  }),
  PROMPTD_SIGN_UP_CREDITS: range("credits", [0, 1_000_000_000], {
    default: "0",
    meaning:
      "Credits that a new person's account starts with. Without mail, addresses are not confirmed, so any owner can invite addresses they control, and each of them gets these credits.",
  }),
  PROMPTD_SIGN_UP_PLAN: setting(z.enum(["pro", "none"]), {
    default: "none",
    expected: "pro or none",
    meaning: "Plan that a new person's account starts with.",
  }),
  PROMPTD_SMTP_URL: setting(smtpUrl, {
    default: null,
    expected:
      "smtp://user:password@host:587, or smtps:// for TLS from the first byte. With a password, smtp:// to another machine requires STARTTLS unless the URL ends with ?requireTLS=false",
    meaning:
      "Mail server for invitations, password resets, and address confirmations. Requires PROMPTD_MAIL_FROM. Unset: invitation links are shown to the person who invites, and an operator creates sign-in links for people who forgot their password.",
    isSecret: true,
  }),
  PROMPTD_MAIL_FROM: setting(text.regex(/@/), {
    default: null,
    expected: "an address such as promptd <promptd@example.org>",
    meaning: "Sender address of mail. Requires PROMPTD_SMTP_URL.",
  }),
  PROMPTD_AUDIT_DAYS: range("days", [1, 36_500], {
    default: "365",
    meaning: "How long audit log entries are kept.",
  }),
  PROMPTD_PLANS: setting(onOff, {
    default: "on",
    expected: ON_OFF,
    meaning: "off: every account may use the API, with or without a plan. For private installations.",
  }),
  PROMPTD_ACTIVE_RUNS_MAX: range("a number", [1, 1_000_000], {
    default: "1000",
    meaning: "The most queued and running runs per account.",
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
  PROMPTD_CORS_ORIGINS: setting(origins, {
    default: "*",
    expected: "* or a comma-separated list of origins such as https://example.org",
    meaning:
      "Origins whose web pages may call /v1, read its OpenAPI document, and sign in with OAuth; /mcp is open only to listed origins, not to *. No page of another origin may call /manage.",
  }),
  PROMPTD_WORKER_CONCURRENCY: range("a number", [1, 10_000], {
    default: "200",
    meaning: "Runs that one worker process executes at once.",
  }),
  PROMPTD_COMPATIBLE_CONCURRENCY: setting(autoOr(1, 10_000), {
    default: "auto",
    expected: "auto, or a number from 1 to 10000",
    meaning:
      "Runs of each `compatible/…` and `local/…` model at once, in the whole installation. auto: 64 if the model server requires a key; from 2 to 64, depending on its pace, if it runs on this machine or requires no key.",
  }),
  PROMPTD_LEASE_MS: range("milliseconds", [300, 60_000], {
    default: "6000",
    meaning:
      "After this long without a heartbeat, a worker counts as dead and its runs are claimed again. Use the same value in all processes.",
  }),
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
  PROMPTD_FILE_TTL_SECONDS: range("seconds", [1, 31_536_000], {
    default: "86400",
    meaning: "Lifetime of a generated file. After that, its URL returns 410.",
  }),
  PROMPTD_HOLD_MAX_CREDITS: range("credits", [1, 1_000_000_000], {
    default: "10000",
    meaning: "The most credits one run may hold. A prompt that could cost more cannot be published.",
  }),
  PROMPTD_AUTHOR_SHARE: range("percent", [0, 100], {
    default: "0",
    meaning:
      "The author's share of the credits that others pay for runs of a prompt. `promptd admin prompt share` sets a different share for one prompt. A run keeps the share that applied when it was created.",
  }),
  PROMPTD_AUTHOR_RUNS: setting(z.enum(["free", "charged"]), {
    default: null,
    expected: "free or charged",
    meaning:
      "Whether runs of an author's own prompts and drafts cost credits. Unset: free, but charged with `PROMPTD_SIGN_UP=open`, because anyone could write a prompt for any model. Authors earn nothing from such runs.",
  }),
  PROMPTD_USAGE_DAYS: range("days", [31, 3_650], {
    default: "730",
    meaning: "How long daily usage totals are stored.",
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
  PROMPTD_WEBHOOK_PRIVATE_ADDRESSES: setting(onOff, {
    default: "off",
    expected: ON_OFF,
    meaning:
      "on: webhooks may use http URLs, any port, and hosts on this machine and in private networks. Use it only if you trust everyone who can create a webhook. Use the same value in all processes.",
  }),
  PROMPTD_S3_BUCKET: setting(text.regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/), {
    default: null,
    expected: "a bucket name of 3 to 63 lowercase letters, digits, periods, and hyphens",
    meaning: "Stores files in this S3-compatible bucket instead of the data directory.",
    requires: ["PROMPTD_S3_ENDPOINT", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
  }),
  PROMPTD_S3_ENDPOINT: address("Base URL of the bucket's S3 service, such as https://s3.eu-central-1.amazonaws.com."),
  PROMPTD_S3_REGION: setting(text, {
    default: "us-east-1",
    expected: "a region",
    meaning: "Region used to sign requests to the bucket.",
  }),
  PROMPTD_S3_PREFIX: setting(text.regex(/^[A-Za-z0-9/_.-]{1,200}$/), {
    default: "promptd/",
    expected: "up to 200 letters, digits, and / _ . -",
    meaning: "Prefix of every object name in the bucket.",
  }),
  PROMPTD_DATABASE_POOL: range("a number", [2, 200], {
    default: "8",
    meaning: "Database connections for transactions. Five more serve reads, heartbeats, sweeps, and notifications.",
  }),
  PROMPTD_DB_UID: setting(integer(1, 4_294_967_294), {
    default: "65534",
    expected: "a user id",
    meaning: "User the embedded database runs as when promptd runs as root.",
  }),
  PROMPTD_SEED: setting(onOff, {
    default: "on",
    expected: ON_OFF,
    meaning: "off: an empty database stays empty instead of getting the seed marketplace and a demo account.",
  }),
  PROMPTD_SANDBOX: setting(onOff, {
    default: null,
    expected: ON_OFF,
    meaning:
      "Whether the sandbox models are available. Unset: on, but off with NODE_ENV=production and DATABASE_URL, because their answers could be mistaken for an AI model's.",
  }),
  PROMPTD_SANDBOX_DIRECTIVES: setting(z.enum(["authors", "callers"]), {
    default: "authors",
    expected: "authors or callers",
    meaning:
      "Whose `sandbox:` lines the sandbox obeys: only lines in the prompt itself, as written by its author, or also lines in callers' inputs, for testing a client.",
  }),
  PROMPTD_MODELS_FILE: setting(text, {
    default: null,
    expected: "a file",
    meaning: "Your additions and changes to the model catalogue, as JSON.",
  }),
  PROMPTD_LOCAL_MODELS: setting(onOff, {
    default: "on",
    expected: ON_OFF,
    meaning:
      "off: promptd does not look for model servers on this machine. It does so only when HOST is a loopback address.",
  }),
  PROMPTD_CHECK_MODELS: setting(onOff, {
    default: "off",
    expected: ON_OFF,
    meaning:
      "on: at startup, promptd asks each provider that has a key for its list of models, once, and logs a warning about catalogue models missing from it.",
  }),
  PROMPTD_INFLIGHT_BYTES: setting(integer(1_048_576, 1_099_511_627_776), {
    default: "536870912",
    expected: "bytes from 1048576",
    meaning: "Memory that one worker's model calls may use: a third for input images, the rest for the calls.",
  }),
  PROMPTD_EMBEDDING_MODEL: setting(text, {
    default: null,
    expected:
      "openai/…, google/…, compatible/… (a model on the server at OPENAI_BASE_URL), or …/… from a provider in the models file",
    meaning:
      "Model that embeds prompts and search queries. If set, titles, descriptions, tags, input names, and queries leave this machine. Use the same value in all processes.",
  }),
  PROMPTD_EMBEDDING_QUERY_PREFIX: setting(text, {
    default: null,
    expected: "a text such as query: or search_query:",
    meaning: "Prefix for each query sent to PROMPTD_EMBEDDING_MODEL, for models that require one.",
  }),
  PROMPTD_EMBEDDING_DOCUMENT_PREFIX: setting(text, {
    default: null,
    expected: "a text such as passage: or search_document:",
    meaning:
      "Prefix for each prompt sent to PROMPTD_EMBEDDING_MODEL. Changing it recomputes all vectors. Use the same value in all processes.",
  }),
  PROMPTD_LOG_LEVEL: setting(z.enum(LOG_LEVELS), {
    default: "info",
    expected: LOG_LEVELS.join(", "),
    meaning: "How much is logged.",
  }),
  NODE_ENV: setting(z.enum(["production", "development", "test"]), {
    default: null,
    expected: "production, development, or test",
    meaning:
      "What the installation is for. With production and DATABASE_URL, there is no demo account, and no sandbox unless PROMPTD_SANDBOX is on. Any other value, or unset, is for trying out promptd.",
  }),
  PROMPTD_FAULT: setting(text, {
    default: null,
    expected: "name:action[@n], comma-separated",
    meaning: "Makes named points in the code fail, for tests. Not allowed when NODE_ENV is production.",
  }),
  OPENAI_BASE_URL: address("Base URL of any server that implements the OpenAI API."),
  ANTHROPIC_BASE_URL: address("Base URL to use instead of the Anthropic API's default."),
  GOOGLE_GENERATIVE_AI_BASE_URL: address("Base URL to use instead of the Gemini API's default."),
  FAL_BASE_URL: address("Base URL to use instead of the fal API's default."),
  REPLICATE_BASE_URL: address("Base URL to use instead of the Replicate API's default."),
  GITHUB_CLIENT_ID: setting(text, {
    default: null,
    expected: "a client id",
    meaning:
      "Client ID of a GitHub OAuth app, for signing in with GitHub. The app's callback URL is PROMPTD_PUBLIC_URL followed by /manage/auth/callback/github.",
    requires: ["GITHUB_CLIENT_SECRET"],
  }),
  GOOGLE_CLIENT_ID: setting(text, {
    default: null,
    expected: "a client id",
    meaning:
      "Client ID of a Google OAuth client, for signing in with Google. The client's redirect URI is PROMPTD_PUBLIC_URL followed by /manage/auth/callback/google.",
    requires: ["GOOGLE_CLIENT_SECRET"],
  }),
  OIDC_ISSUER: {
    ...address(
      "Issuer URL of an OpenID Connect provider, such as Keycloak, Entra ID, or Okta, for signing in. The redirect URI is PROMPTD_PUBLIC_URL followed by /manage/auth/callback/oidc.",
    ),
    requires: ["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"],
  },
  OIDC_CLIENT_ID: setting(text, {
    default: null,
    expected: "a client id",
    meaning: "Client ID of this installation at OIDC_ISSUER.",
    requires: ["OIDC_ISSUER"],
  }),
  OIDC_NAME: setting(text, {
    default: "Single sign-on",
    expected: "a name",
    meaning: "Display name of the OIDC_ISSUER provider, shown on the sign-in page.",
  }),
  OLLAMA_HOST: setting(text, {
    default: null,
    expected: "host:port",
    meaning: "Where Ollama listens. Used only if it is a loopback address.",
  }),
} as const;
