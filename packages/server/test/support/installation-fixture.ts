/** One database shared by several promptd processes, with accounts and prompts made directly, and a final check. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Client } from "@promptd/client";
import { createAccount, createApiKey, type CreateApiKey } from "../../src/accounts/index.ts";
import { startApp, type App } from "../../src/app.ts";
import { checkLedger, grantCredits } from "../../src/credits/index.ts";
import { loadCatalogue } from "../../src/models/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";
import { parsePromptFile, publishPrompts } from "../../src/prompts/index.ts";
import { startPromptd, type PromptdProcess, type ServeOptions } from "./promptd-process.ts";

/** Its input may contain directive lines for the sandbox, such as `sandbox: delay=500`. */
const ECHO = `---
promptd: 1
title: Echo
model: sandbox/text
inputs: { ask: {} }
maxOutputTokens: 1000
---
{{ ask }}
`;
const FREE_ECHO = ECHO.replace("Echo", "Free echo").replace("sandbox/text", "sandbox/text-free");
const PICTURE = `---
promptd: 1
title: Picture
model: sandbox/image
inputs: { ask: {} }
options: { size: 256x256 }
---
{{ ask }}
`;
const PHOTO = PICTURE.replace("Picture", "Photo").replace(
  "options:",
  "images: [{ label: Photo, description: Any }]\noptions:",
);
const CLIP = PICTURE.replace("Picture", "Clip")
  .replace("sandbox/image", "sandbox/video")
  .replace(/options.*\n/, "");
/** Forty texts, the most a prompt may have: with `sandbox: size=2048` a run of 80 MiB, otherwise a few kilobytes. */
const STEPS = Array.from({ length: 10 }, (_, i) => `part${i}`);
const LONG = `---
promptd: 1
title: Long
model: sandbox/text
inputs: { ask: {} }
steps:
${STEPS.map((id) => `  ${id}: { maxOutputTokens: 100 }`).join("\n")}
---
${STEPS.map((id) => `<!-- step: ${id} -->\n{{ ask }}`).join("\n")}
`;

export interface InstallationCaller {
  readonly accountId: string;
  readonly apiKey: string;
  clientAt(url: string): Client;
}

export interface InstallationFixture {
  readonly db: Database;
  readonly environment: Readonly<Record<string, string>>;
  readonly prompts: Readonly<Record<"paid" | "free" | "picture" | "clip" | "photo" | "long", string>>;
  start(role?: ServeOptions["role"], changes?: Readonly<Record<string, string>>): Promise<PromptdProcess>;
  /**
   * In this process, closed with the fixture: for processes that a test does nothing to. A process takes a second to
   * start.
   */
  startHere(role: "api" | "worker", changes?: Readonly<Record<string, string>>): Promise<AppHere>;
  /** As if all currently registered workers had been silent for longer than any lease. */
  expireLeases(): Promise<void>;
  createCaller(credits?: number, terms?: Pick<CreateApiKey, "monthlyCap">): Promise<InstallationCaller>;
  openRuns(): Promise<number>;
  /** What the audit reports, and everything that is not as it must be when no run is open. */
  findFaults(): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

export interface AppHere {
  /** Empty for a worker. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * A dead worker is detected within three seconds. With a lease of 600 ms a busy machine declared living workers dead,
 * three times in a row, and their runs failed.
 */
const ENVIRONMENT = {
  PROMPTD_SANDBOX_DIRECTIVES: "callers",
  PROMPTD_RATE_LIMIT_PER_SECOND: "10000",
  PROMPTD_LEASE_MS: "1500",
  PROMPTD_LOG_LEVEL: "warn",
  PROMPTD_SYNC_WAIT_MS: "60000",
};

const HERE = { PORT: "0", PROMPTD_LOCAL_MODELS: "off", PROMPTD_DRAIN_SECONDS: "0" };

/** @param databaseUrl an empty, migrated database. */
export async function openInstallationFixture(
  databaseUrl: string,
  changes: Readonly<Record<string, string>> = {},
): Promise<InstallationFixture> {
  const log = createLog("error", "stderr");
  const db = await openDatabase({ url: databaseUrl, role: "test", log });
  const newId = createIdSource(systemClock);
  const dataDir = await mkdtemp(join(tmpdir(), "promptd-data-"));
  const environment = { ...ENVIRONMENT, DATABASE_URL: databaseUrl, PROMPTD_DATA_DIR: dataDir, ...changes };
  const prompts = await publish(db, newId);
  const apps: App[] = [];
  return {
    db,
    environment,
    prompts,
    start: (role = "all", more = {}) => startPromptd({ role, environment: { ...environment, ...more } }),
    startHere: async (role, more = {}) => {
      const config = readConfig({ ...HERE, ...environment, ...more });
      const app = await startApp({ config, role, log });
      apps.push(app);
      return { url: app.listenUrl ?? "", close: () => app.close() };
    },
    expireLeases: async () => {
      await db.query("update workers set heartbeat_at = heartbeat_at - interval '1 hour'");
    },
    createCaller: async (credits = 1_000_000, terms = {}) => {
      const accountId = await createAccount(db, newId, { email: `${newId()}@example.org`, plan: "pro" });
      await grantCredits(db, { accountId, amount: credits, reason: null, idempotencyKey: "test", expiresAt: null });
      const { apiKey } = await createApiKey(db, newId, { ...terms, accountId, name: "test" });
      return {
        accountId,
        apiKey,
        clientAt: (baseUrl) => createClient({ baseUrl, apiKey, maxRetries: 0, timeoutMs: 90_000 }),
      };
    },
    openRuns: async () => {
      const [row] = await db.query<{ n: number }>("select count(*)::int as n from runs where finished_at is null");
      return row?.n ?? 0;
    },
    findFaults: () => findFaults(db),
    close: async () => {
      await Promise.all(apps.map((app) => app.close()));
      await db.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function publish(db: Database, newId: () => string): Promise<InstallationFixture["prompts"]> {
  const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });
  const authorId = await createAccount(db, newId, { email: `${newId()}@example.org`, plan: "none" });
  const files = { paid: ECHO, free: FREE_ECHO, picture: PICTURE, clip: CLIP, photo: PHOTO, long: LONG };
  const sources = Object.values(files).flatMap((text) => parsePromptFile(text, catalogue));
  const published = await publishPrompts(db, sources, { authorId, catalogue, newId });
  if (published.length !== sources.length) throw new Error("the prompts of the test were not published");
  const versions = Object.keys(files).map((name, i): [string, string | undefined] => [
    name,
    published[i]?.promptVersionId,
  ]);
  return Object.fromEntries(versions) as InstallationFixture["prompts"];
}

export async function findFaults(db: Database): Promise<readonly unknown[]> {
  const { mismatches } = await checkLedger(db);
  const others = await db.tx(
    (tx) =>
      tx.query(`
    select 'not final' as fault, id from runs where finished_at is null
    union all select 'hold left', run_id from credit_holds where state = 'held'
    union all select 'captured twice', run_id from credit_transfers where kind = 'capture' group by run_id having count(*) > 1
    union all select 'charged though failed', id from runs where status = 'failed' and credits > 0
    union all select 'paid run that cost nothing', id from runs where status = 'succeeded' and hold is not null and credits = 0
    union all select 'free run in the ledger', r.id from runs r join credit_transfers t on t.run_id = r.id where r.hold is null
    union all select 'succeeded without output', id from runs where status = 'succeeded' and outputs::text = '[]'
    union all select 'more than three sends of an item', run_id from provider_calls group by run_id, step, item having count(*) > 3`),
    { statementTimeoutMs: 0 },
  );
  return [...mismatches, ...others];
}
