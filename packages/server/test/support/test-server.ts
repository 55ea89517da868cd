/** A whole promptd on its own database, with callers that use it over HTTP through the project's client. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Client } from "@promptd/client";
import { createAccount, createApiKey, revokeApiKey, setPlan, type KeyTerms } from "../../src/accounts/index.ts";
import { startApp, type App, type AppOptions } from "../../src/app.ts";
import { checkLedger, grantCredits, type LedgerReport } from "../../src/credits/index.ts";
import { isoTime, systemClock } from "../../src/platform/clock.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";
import {
  parsePromptFile,
  type PublishedPrompt,
  publishPrompts,
  republishPrompt,
  unpublishPrompt,
} from "../../src/prompts/index.ts";
import type { Catalogue } from "../../src/models/index.ts";
import { auditedFetch } from "../files/audited-fetch.ts";
import { freezeAsDraft, type FrozenDraft } from "../prompts/frozen-draft.ts";
import { createTestDatabase } from "./test-database.ts";

export interface TestCaller {
  readonly accountId: string;
  readonly keyId: string;
  readonly apiKey: string;
  readonly client: Client;
}

export interface CallerOptions {
  readonly plan?: "pro" | "none";
  readonly credits?: number;
  readonly username?: string;
  readonly displayName?: string;
}

export interface TestGrant {
  readonly amount: number;
  /** Seconds from now; negative: already expired. */
  readonly expiresInSeconds?: number;
}

export interface TestPublishOptions {
  readonly authorId?: string;
  readonly catalogue?: Catalogue;
}

export interface TestServer {
  readonly url: string;
  readonly databaseUrl: string;
  readonly app: App;
  /** Another process of the same installation, as far as that is possible inside this one. */
  startAnother(role: "all" | "api" | "worker", environment?: Record<string, string>): Promise<App>;
  createCaller(options?: CallerOptions): Promise<TestCaller>;
  /** The same account with another key. */
  createKey(accountId: string, terms?: Partial<KeyTerms>): Promise<TestCaller>;
  /** A client that checks every response against the contract. Without retries by default. */
  clientOf(apiKey: string, url?: string, maxRetries?: number): Client;
  grant(accountId: string, grant: TestGrant): Promise<void>;
  /** Publishes a prompt file under a new author, or the given one. */
  publish(text: string, options?: TestPublishOptions): Promise<PublishedPrompt>;
  /** Saves and freezes a draft of a new author's, or of the given author's prompt, or new prompt. */
  freezeDraft(text: string, of?: { readonly authorId?: string; readonly promptId?: string }): Promise<FrozenDraft>;
  unpublish(promptId: string): Promise<void>;
  republish(promptId: string): Promise<void>;
  checkLedger(): Promise<LedgerReport>;
  /** Stops the database's clock at a time, in milliseconds since 1970. */
  freezeTime(ms: number): Promise<void>;
  /** Lets the database's clock run, this many seconds ahead. */
  shiftTime(seconds: number): Promise<void>;
  revokeKey(keyId: string): Promise<void>;
  endPlan(accountId: string): Promise<void>;
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly environment?: Record<string, string>;
  readonly httpLimits?: AppOptions["httpLimits"];
  readonly role?: AppOptions["role"];
  readonly clock?: AppOptions["clock"];
  readonly consoleDirectory?: AppOptions["consoleDirectory"];
  /** For tests that read the log; otherwise errors go to stderr. */
  readonly log?: AppOptions["log"];
}

/** Raises the rate limit out of the way unless a test is about it, and makes waits short. */
const ENVIRONMENT = {
  PROMPTD_SANDBOX_DIRECTIVES: "callers",
  PORT: "0",
  PROMPTD_LOG_LEVEL: "error",
  PROMPTD_RATE_LIMIT_PER_SECOND: "10000",
  PROMPTD_MANAGE_RATE_LIMIT_PER_SECOND: "10000",
  PROMPTD_SYNC_WAIT_MS: "20000",
  PROMPTD_DRAIN_SECONDS: "0",
  PROMPTD_LOCAL_MODELS: "off",
};

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "promptd-data-"));
  const environment = { ...ENVIRONMENT, DATABASE_URL: database.url, PROMPTD_DATA_DIR: dataDir, ...options.environment };
  const start = (role: AppOptions["role"], changes: Record<string, string> = {}) =>
    startApp({
      config: readConfig({ ...environment, ...changes }),
      role,
      log: options.log ?? createLog("error", "stderr"),
      checkResponses: true,
      httpLimits: options.httpLimits,
      consoleDirectory: options.consoleDirectory,
      ...(options.clock === undefined ? {} : { clock: options.clock }),
    });
  const app = await start(options.role ?? "all");
  const others: App[] = [];
  return {
    ...createActions(app),
    databaseUrl: database.url,
    app,
    startAnother: async (role, changes) => {
      const other = await start(role, changes);
      others.push(other);
      return other;
    },
    close: async () => {
      await Promise.all([app, ...others].map((one) => one.close()));
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** What people and operators do around a service; each action is the service's own function. */
function createActions(app: App): Omit<TestServer, "databaseUrl" | "app" | "startAnother" | "close"> {
  const url = app.listenUrl ?? "";
  const newId = createIdSource(systemClock);
  const clientOf = (apiKey: string, baseUrl = url, maxRetries = 0) =>
    createClient({ baseUrl, apiKey, maxRetries, fetch: auditedFetch });
  let created = 0;
  let granted = 0;

  async function createCaller(caller: CallerOptions = {}): Promise<TestCaller> {
    created += 1;
    const { credits = 1_000, plan = "pro", username, displayName } = caller;
    const account = { email: `caller-${created}@example.org`, username, displayName, plan };
    const accountId = await createAccount(app.db, newId, account);
    if (credits !== 0) await grant(accountId, { amount: credits });
    return createKey(accountId);
  }

  async function createKey(accountId: string, terms: Partial<KeyTerms> = {}): Promise<TestCaller> {
    const { keyId, apiKey } = await createApiKey(app.db, newId, { name: "test", ...terms, accountId });
    return { accountId, keyId, apiKey, client: clientOf(apiKey) };
  }

  async function grant(accountId: string, { amount, expiresInSeconds }: TestGrant): Promise<void> {
    granted += 1;
    const isForever = expiresInSeconds === undefined;
    const expiresAt = isForever ? null : isoTime(systemClock.nowMs() + expiresInSeconds * 1_000);
    await grantCredits(app.db, { accountId, amount, reason: null, idempotencyKey: `test-${granted}`, expiresAt });
  }

  async function publish(text: string, how: TestPublishOptions = {}): Promise<PublishedPrompt> {
    const { catalogue = app.catalogue } = how;
    const authorId = how.authorId ?? (await createCaller({ credits: 0 })).accountId;
    const sources = parsePromptFile(text, catalogue);
    const [published] = await publishPrompts(app.db, sources, { authorId, catalogue, newId });
    if (published === undefined) throw new Error("The file holds no prompt.");
    return published;
  }

  const replaceClock = async (body: string): Promise<void> => {
    const name = "create or replace function promptd_now() returns timestamptz language sql volatile";
    await app.db.query(`${name} as $$ ${body} $$`);
  };

  return {
    url,
    createCaller,
    createKey,
    clientOf,
    grant,
    publish,
    freezeDraft: async (text, { authorId, promptId } = {}) => {
      const accountId = authorId ?? (await createCaller({ credits: 0 })).accountId;
      return freezeAsDraft(app, text, { accountId, promptId });
    },
    unpublish: (promptId) => unpublishPrompt(app.db, promptId),
    republish: (promptId) => republishPrompt(app.db, promptId),
    checkLedger: () => checkLedger(app.db),
    freezeTime: (ms) => replaceClock(`select timestamptz '${isoTime(ms)}'`),
    shiftTime: (seconds) => replaceClock(`select clock_timestamp() + interval '${seconds} seconds'`),
    revokeKey: async (keyId) => void (await revokeApiKey(app.db, keyId)),
    endPlan: (accountId) => setPlan(app.db, accountId, { plan: "pro", untilMs: systemClock.nowMs() - 1_000 }),
  };
}
