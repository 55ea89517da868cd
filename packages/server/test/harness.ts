/** A whole promptd on a database of its own, with callers who speak to it over HTTP through the project's client. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Client } from "@promptd/client";
import { createAccount, createApiKey, revokeApiKey, setPlan } from "../src/accounts/index.ts";
import { startApp, type App, type AppOptions } from "../src/app.ts";
import { grantCredits } from "../src/credits/index.ts";
import { systemClock } from "../src/platform/clock.ts";
import { readConfig } from "../src/platform/config.ts";
import { createIdSource } from "../src/platform/ids.ts";
import { createLog } from "../src/platform/log.ts";
import { parsePromptFile, publishPrompts, type PublishedPrompt } from "../src/prompts/index.ts";
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
}

export interface TestServer {
  readonly url: string;
  readonly databaseUrl: string;
  readonly app: App;
  /** Another process of the same installation, as far as a process can be had inside this one. */
  startAnother(role: "all" | "api" | "worker", environment?: Record<string, string>): Promise<App>;
  createCaller(options?: CallerOptions): Promise<TestCaller>;
  clientOf(apiKey: string, url?: string): Client;
  /** Publishes a prompt file under an author of its own, or the given one. */
  publish(text: string, authorId?: string): Promise<PublishedPrompt>;
  revokeKey(keyId: string): Promise<void>;
  endPlan(accountId: string): Promise<void>;
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly environment?: Record<string, string>;
  readonly httpLimits?: AppOptions["httpLimits"];
  readonly role?: AppOptions["role"];
}

/** The limit is out of the way unless a test is about it, and a wait ends soon. */
const ENVIRONMENT = {
  PORT: "0",
  PROMPTD_LOG_LEVEL: "error",
  PROMPTD_RATE_LIMIT_PER_SECOND: "10000",
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
      log: createLog("error", "stderr"),
      checkResponses: true,
      httpLimits: options.httpLimits,
    });
  const app = await start(options.role ?? "all");
  const others: App[] = [];
  const url = app.url ?? "";
  const newId = createIdSource(systemClock);
  const clientOf = (apiKey: string, baseUrl = url) => createClient({ baseUrl, apiKey, maxRetries: 0 });
  let created = 0;

  async function createCaller(caller: CallerOptions = {}): Promise<TestCaller> {
    created += 1;
    const account = { email: `caller-${created}@example.org`, username: caller.username, plan: caller.plan ?? "pro" };
    const accountId = await createAccount(app.db, newId, account);
    if (caller.credits !== 0) {
      const grant = {
        accountId,
        amount: caller.credits ?? 1_000,
        reason: null,
        idempotencyKey: "test",
        expiresAt: null,
      };
      await grantCredits(app.db, grant);
    }
    const { keyId, apiKey } = await createApiKey(app.db, newId, { accountId, name: "test" });
    return { accountId, keyId, apiKey, client: clientOf(apiKey) };
  }

  async function publish(text: string, authorId?: string): Promise<PublishedPrompt> {
    const author = authorId ?? (await createCaller({ credits: 0 })).accountId;
    const sources = parsePromptFile(text, app.catalogue);
    const [published] = await publishPrompts(app.db, sources, { authorId: author, catalogue: app.catalogue, newId });
    if (published === undefined) throw new Error("The file holds no prompt.");
    return published;
  }

  return {
    url,
    databaseUrl: database.url,
    app,
    startAnother: async (role, changes) => {
      const other = await start(role, changes);
      others.push(other);
      return other;
    },
    createCaller,
    clientOf,
    publish,
    revokeKey: async (keyId) => void (await revokeApiKey(app.db, keyId)),
    endPlan: (accountId) => setPlan(app.db, accountId, { plan: "pro", untilMs: systemClock.nowMs() - 1_000 }),
    close: async () => {
      await Promise.all([app, ...others].map((one) => one.close()));
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
